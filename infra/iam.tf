# One role for each function. permissions.json lists what each does to each table; a test compares it with what the
# code does.
locals {
  table_arns  = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.name_prefix}"
  permissions = jsondecode(file("${path.module}/permissions.json"))

  key_statements = var.kms_key_arn == null ? [] : [
    { Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.kms_key_arn }
  ]
  # X-Ray has no resources to name.
  tracing_statements = var.tracing ? [
    { Effect = "Allow", Action = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"], Resource = "*" }
  ] : []
  # Network interfaces that Lambda makes and names itself.
  network_statements = var.private_network == null ? [] : [
    {
      Effect = "Allow"
      Action = [
        "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"
      ]
      Resource = "*"
    }
  ]
  stream_statements = [
    {
      Effect   = "Allow"
      Action   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"]
      Resource = ["${local.table_arns}-scores/stream/*"]
    },
    { Effect = "Allow", Action = ["sqs:SendMessage"], Resource = [aws_sqs_queue.bookkeeper.arn, aws_sqs_queue.failed.arn, aws_sqs_queue.notify.arn] },
  ]
  bookkeeper_statements = [
    {
      Effect   = "Allow"
      Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
      Resource = [aws_sqs_queue.bookkeeper.arn]
    },
    { Effect = "Allow", Action = ["sqs:SendMessage"], Resource = [aws_sqs_queue.notify.arn] },
  ]
  notify_statements = [
    {
      Effect   = "Allow"
      Action   = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"]
      Resource = [aws_sqs_queue.notify.arn]
    },
    {
      Effect   = "Allow"
      Action   = ["appsync:GraphQL"]
      Resource = [for field in ["publishRankBucketChange", "publishTopChange"] : "${aws_appsync_graphql_api.api.arn}/types/Mutation/fields/${field}"]
    },
  ]

  statements = {
    for name in keys(local.functions) : name => concat(
      [
        for table, actions in local.permissions[name] :
        { Effect = "Allow", Action = [for action in actions : "dynamodb:${action}"], Resource = "${local.table_arns}-${table}" }
      ],
      [
        {
          Effect   = "Allow"
          Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
          Resource = "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${var.name_prefix}-${name}:*"
        }
      ],
      name == "stream" ? local.stream_statements : [],
      name == "bookkeeper" ? local.bookkeeper_statements : [],
      name == "notify" ? local.notify_statements : [],
      name == "notify" ? local.network_statements : [],
      local.key_statements,
      local.tracing_statements,
    )
  }

  # Services act for many accounts: only for resources of this one.
  trust = {
    for service in ["appsync", "lambda", "scheduler"] : service => jsonencode({
      Version = "2012-10-17"
      Statement = [
        {
          Effect    = "Allow"
          Action    = "sts:AssumeRole"
          Principal = { Service = "${service}.amazonaws.com" }
          Condition = service == "lambda" ? null : { StringEquals = { "aws:SourceAccount" = local.account } }
        }
      ]
    })
  }
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name                 = "${var.name_prefix}-${local.region}-${each.key}"
  description          = each.value.what
  assume_role_policy   = local.trust.lambda
  permissions_boundary = var.permissions_boundary
  tags                 = local.tags
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name   = "function"
  role   = aws_iam_role.function[each.key].id
  policy = jsonencode({ Version = "2012-10-17", Statement = local.statements[each.key] })
}

resource "aws_iam_role" "api_calls" {
  name                 = "${var.name_prefix}-${local.region}-api-calls"
  description          = "AppSync calls the resolvers' function."
  assume_role_policy   = local.trust.appsync
  permissions_boundary = var.permissions_boundary
  tags                 = local.tags
}

resource "aws_iam_role_policy" "api_calls" {
  name = "invoke"
  role = aws_iam_role.api_calls.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = ["lambda:InvokeFunction"], Resource = aws_lambda_alias.live["api"].arn }
    ]
  })
}

resource "aws_iam_role" "api_logs" {
  count = var.api_log_level == "NONE" ? 0 : 1

  name                 = "${var.name_prefix}-${local.region}-api-logs"
  description          = "AppSync writes its log."
  assume_role_policy   = local.trust.appsync
  permissions_boundary = var.permissions_boundary
  tags                 = local.tags
}

resource "aws_iam_role_policy" "api_logs" {
  count = var.api_log_level == "NONE" ? 0 : 1

  name = "log"
  role = aws_iam_role.api_logs[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/appsync/apis/*"
      }
    ]
  })
}

resource "aws_iam_role" "schedule" {
  name                 = "${var.name_prefix}-${local.region}-schedule"
  description          = "The scheduler starts maintenance."
  assume_role_policy   = local.trust.scheduler
  permissions_boundary = var.permissions_boundary
  tags                 = local.tags
}

resource "aws_iam_role_policy" "schedule" {
  name = "invoke"
  role = aws_iam_role.schedule.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{ Effect = "Allow", Action = ["lambda:InvokeFunction"], Resource = aws_lambda_alias.live["maintenance"].arn }],
      # The schedule's input is encrypted with the key.
      var.kms_key_arn == null ? [] : [{ Effect = "Allow", Action = ["kms:Decrypt"], Resource = var.kms_key_arn }],
    )
  })
}
