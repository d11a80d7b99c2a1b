locals {
  panels = [
    { title = "Requests", stat = "Sum", metrics = [
      ["AWS/AppSync", "4XXError", "GraphQLAPIId", aws_appsync_graphql_api.api.id],
      ["AWS/AppSync", "5XXError", "GraphQLAPIId", aws_appsync_graphql_api.api.id],
      ["AWS/Lambda", "Invocations", "FunctionName", aws_lambda_function.function["api"].function_name],
    ] },
    { title = "Latency (p99, ms)", stat = "p99", metrics = [
      ["AWS/AppSync", "Latency", "GraphQLAPIId", aws_appsync_graphql_api.api.id],
      ["AWS/Lambda", "Duration", "FunctionName", aws_lambda_function.function["api"].function_name],
    ] },
    { title = "Counting lag (s)", stat = "Maximum", metrics = [
      ["Leaderboard", "CountingLag", "Stack", var.name_prefix],
      ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", aws_sqs_queue.bookkeeper.name],
    ] },
    { title = "Counted changes", stat = "Sum", metrics = [
      ["Leaderboard", "CountedRecords", "Stack", var.name_prefix],
      ["Leaderboard", "HandedOnRecords", "Stack", var.name_prefix],
      ["Leaderboard", "MalformedRecords", "Stack", var.name_prefix],
      ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", aws_sqs_queue.failed.name],
    ] },
    { title = "Changes per counter write unit", stat = "Average", metrics = [
      ["Leaderboard", "RecordsPerWriteUnit", "Stack", var.name_prefix],
    ] },
    { title = "Rank changes sent", stat = "Sum", metrics = [
      ["Leaderboard", "RankChangesPublished", "Stack", var.name_prefix],
      ["Leaderboard", "RankChangesFailed", "Stack", var.name_prefix],
      ["Leaderboard", "RankChangesRefused", "Stack", var.name_prefix],
    ] },
    { title = "Refused submissions", stat = "Sum", metrics = [
      ["Leaderboard", "RefusedSubmissions", "Stack", var.name_prefix],
    ] },
    { title = "Background work", stat = "Maximum", metrics = [
      ["Leaderboard", "GrowingTrees", "Stack", var.name_prefix],
      ["Leaderboard", "Jobs", "Stack", var.name_prefix],
    ] },
    { title = "Write units", stat = "Sum", metrics = [
      for table in local.tables : ["AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", table.name]
    ] },
    { title = "Read units", stat = "Sum", metrics = [
      for table in local.tables : ["AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", table.name]
    ] },
  ]
}

resource "aws_cloudwatch_dashboard" "stack" {
  dashboard_name = var.name_prefix
  dashboard_body = jsonencode({
    widgets = [
      for at, panel in local.panels : {
        type   = "metric"
        x      = 12 * (at % 2)
        y      = 6 * floor(at / 2)
        width  = 12
        height = 6
        properties = {
          title   = panel.title
          stat    = panel.stat
          metrics = panel.metrics
          region  = local.region
          period  = 60
          view    = "timeSeries"
        }
      }
    ]
  })
}
