locals {
  function_alarms = merge([
    for name, function in aws_lambda_function.function : {
      "${name}-errors" = {
        namespace   = "AWS/Lambda", metric = "Errors", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = { FunctionName = function.function_name }
        description = "The ${name} function fails. Read its log group."
      }
      "${name}-throttles" = {
        namespace   = "AWS/Lambda", metric = "Throttles", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = { FunctionName = function.function_name }
        description = "The ${name} function is refused invocations: raise its reserved concurrency or the account's."
      }
    }
  ]...)

  table_alarms = merge([
    for name, table in local.tables : {
      for kind in ["Read", "Write"] : "${name}-${lower(kind)}-throttles" => {
        namespace   = "AWS/DynamoDB", metric = "${kind}ThrottleEvents", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = { TableName = table.name }
        description = "The ${name} table refuses ${lower(kind)}s: warm it up, or raise its capacity or the account's quota."
      }
    }
  ]...)

  alarms = merge(local.function_alarms, local.table_alarms, {
    "counting-lag" = {
      namespace   = "AWS/Lambda", metric = "IteratorAge", statistic = "Maximum", threshold = 60000, periods = 3
      dimensions  = { FunctionName = aws_lambda_function.function["stream"].function_name }
      description = "Ranks are more than a minute behind the scores."
    }
    "failed-records" = {
      namespace   = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum", threshold = 0, periods = 1
      dimensions  = { QueueName = aws_sqs_queue.failed.name }
      description = "Changes were given up on: counters are off until they are rebuilt."
    }
    "api-5xx" = {
      namespace   = "AWS/AppSync", metric = "5XXError", statistic = "Sum", threshold = 0, periods = 3
      dimensions  = { GraphQLAPIId = aws_appsync_graphql_api.api.id }
      description = "The API itself fails."
    }
    "rank-changes-failed" = {
      namespace   = "Leaderboard", metric = "RankChangesFailed", statistic = "Sum", threshold = 0, periods = 5
      dimensions  = { Stack = var.name_prefix }
      description = "Subscribers do not hear of rank changes: AppSync is down, throttles or forbids them. They are kept and tried again."
    }
    "rank-changes-refused" = {
      namespace   = "Leaderboard", metric = "RankChangesRefused", statistic = "Sum", threshold = 0, periods = 1
      dimensions  = { Stack = var.name_prefix }
      description = "AppSync refused rank changes for good: nobody will hear of them. The notify function's log says why."
    }
    "rank-changes-late" = {
      namespace   = "AWS/SQS", metric = "ApproximateAgeOfOldestMessage", statistic = "Maximum", threshold = 60, periods = 3
      dimensions  = { QueueName = aws_sqs_queue.notify.name }
      description = "Subscribers hear of rank changes more than a minute late."
    }
    "malformed-records" = {
      namespace   = "Leaderboard", metric = "MalformedRecords", statistic = "Sum", threshold = 0, periods = 1
      dimensions  = { Stack = var.name_prefix }
      description = "Items that are no entries were written to the scores table. The stream function's log names them."
    }
  })

  # The dashboard's graphs.
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
    ] },
    { title = "Counted changes", stat = "Sum", metrics = [
      ["Leaderboard", "CountedRecords", "Stack", var.name_prefix],
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
    { title = "Write units", stat = "Sum", metrics = [
      for table in local.tables : ["AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", table.name]
    ] },
    { title = "Read units", stat = "Sum", metrics = [
      for table in local.tables : ["AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", table.name]
    ] },
  ]
}

resource "aws_cloudwatch_metric_alarm" "alarm" {
  for_each = local.alarms

  alarm_name          = "${var.name_prefix}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = 60
  evaluation_periods  = each.value.periods
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
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
