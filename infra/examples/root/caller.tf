# What callers that sign with IAM need. IAM checks the fields of nested types too, so reading is every type but Mutation.
locals {
  types = [for match in regexall("(?m)^type (\\w+)", file("${path.module}/../../../schema.graphql")) : match[0]]
  reads = [for type in local.types : "${module.leaderboard.api_arn}/types/${type}/*" if type != "Mutation"]
}

# A game server reads, subscribes and submits.
resource "aws_iam_policy" "game_server" {
  name        = "${var.name_prefix}-game-server"
  description = "Reads leaderboards and submits scores."
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect = "Allow"
        Action = ["appsync:GraphQL"]
        Resource = concat(local.reads, [
          for field in ["submitScore", "submitScores"] : "${module.leaderboard.api_arn}/types/Mutation/fields/${field}"
        ])
      }
    ]
  })
}

# An operator does everything that the API offers. Nobody needs lambda:InvokeFunction.
resource "aws_iam_policy" "operator" {
  name        = "${var.name_prefix}-operator"
  description = "Creates, moderates and deletes leaderboards."
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["appsync:GraphQL"], Resource = ["${module.leaderboard.api_arn}/*"] }]
  })
}
