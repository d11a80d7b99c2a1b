# A KMS key of your own, and what its policy must allow. Everything else that uses the key does so by its IAM policy,
# which the first statement lets it: the functions' roles, the scheduler's, and whoever runs `leaderboard --stack`
# (kms:Decrypt) or Terraform.
resource "aws_kms_key" "leaderboard" {
  count = var.own_key ? 1 : 0

  description         = "Encrypts the ${var.name_prefix} leaderboards."
  enable_key_rotation = true
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "ByIam"
        Effect    = "Allow"
        Principal = { AWS = "arn:${data.aws_partition.current.partition}:iam::${local.account}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        # CloudWatch Logs encrypts as itself: without this, Terraform cannot create the log groups.
        Sid       = "CloudWatchLogs"
        Effect    = "Allow"
        Principal = { Service = "logs.${var.region}.amazonaws.com" }
        Action    = ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
        Resource  = "*"
        Condition = {
          ArnLike = {
            "kms:EncryptionContext:aws:logs:arn" = [
              for group in ["aws/lambda/${var.name_prefix}-*", "aws/vendedlogs/${var.name_prefix}-*", "aws/appsync/apis/*"] :
              "arn:${data.aws_partition.current.partition}:logs:${var.region}:${local.account}:log-group:/${group}"
            ]
          }
        }
      },
      {
        # Alarms publish to the encrypted topic.
        Sid       = "Alarms"
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
        Resource  = "*"
        Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
      },
    ]
  })
}
