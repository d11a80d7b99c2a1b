# docs/operations.md says of each alarm what it means and what to do; a test compares the names and their number.
locals {
  by_stack = { Stack = var.name_prefix }

  function_alarms = merge([
    for name, function in aws_lambda_function.function : {
      "${name}-errors" = {
        namespace   = "AWS/Lambda", metric = "Errors", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = { FunctionName = function.function_name }
        description = "The ${name} function fails. Read its log group."
      }
      # A failure that is caught (a resolver's, a job's, a pass's) leaves Errors at 0.
      "${name}-logged-errors" = {
        namespace   = local.log_metrics[name].namespace, metric = local.log_metrics[name].name, statistic = "Sum", threshold = 0, periods = 1
        dimensions  = {}
        description = "The ${name} function logged an error. Filter its log group by level = ERROR."
      }
      "${name}-throttles" = {
        namespace   = "AWS/Lambda", metric = "Throttles", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = { FunctionName = function.function_name }
        description = "The ${name} function is refused invocations: raise its reserved concurrency or the account's."
      }
    }
  ]...)

  # By table, and by table and index: a table's metrics leave its indexes out.
  throttled = merge(
    { for name, table in local.tables : name => { TableName = table.name } },
    { for name, index in local.indexes : name => { TableName = local.tables[index.table].name, GlobalSecondaryIndexName = index.name } },
  )
  throttle_alarms = merge([
    for name, dimensions in local.throttled : {
      for kind in ["Read", "Write"] : "${name}-${lower(kind)}-throttles" => {
        namespace   = "AWS/DynamoDB", metric = "${kind}ThrottleEvents", statistic = "Sum", threshold = 0, periods = 3
        dimensions  = dimensions
        description = "DynamoDB refuses ${lower(kind)}s of ${name}: warm it up, or raise its capacity or the account's quota."
      }
    }
  ]...)

  counting_alarms = {
    "counting-lag" = {
      namespace   = "AWS/Lambda", metric = "IteratorAge", statistic = "Maximum", threshold = 60000, periods = 3
      dimensions  = { FunctionName = aws_lambda_function.function["stream"].function_name }
      description = "Ranks are more than a minute behind the scores. The stream drops records after 24 hours."
    }
    "bookkeepers-late" = {
      namespace   = "AWS/SQS", metric = "ApproximateAgeOfOldestMessage", statistic = "Maximum", threshold = 60, periods = 3
      dimensions  = { QueueName = aws_sqs_queue.bookkeeper.name }
      description = "Ranks of a hot board are more than a minute behind its scores."
    }
    "failed-records" = {
      namespace   = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum", threshold = 0, periods = 1
      dimensions  = { QueueName = aws_sqs_queue.failed.name }
      description = "Changes were given up on: counters are off until they are rebuilt."
    }
    "undelivered-records" = {
      namespace   = "AWS/Lambda", metric = "DestinationDeliveryFailures", statistic = "Sum", threshold = 0, periods = 1
      dimensions  = { FunctionName = aws_lambda_function.function["stream"].function_name }
      description = "Changes were given up on and did not reach the failure queue: nothing else names their boards."
    }
    "malformed-records" = {
      namespace   = "Leaderboard", metric = "MalformedRecords", statistic = "Sum", threshold = 0, periods = 1
      dimensions  = local.by_stack
      description = "Items that are no entries were written to the scores table. The stream function's log names them."
    }
    # A run that ends sends the metric, so that a run that never starts or never ends shows as well.
    "maintenance-missing" = {
      namespace   = "Leaderboard", metric = "Jobs", statistic = "SampleCount", threshold = 1, periods = 3, period = 300
      comparison  = "LessThanThreshold", missing = "breaching"
      dimensions  = local.by_stack
      description = "No run of maintenance has ended for 15 minutes: trees do not grow, archives and deletions wait."
    }
  }

  notification_alarms = {
    "rank-changes-failed" = {
      namespace   = "Leaderboard", metric = "RankChangesFailed", statistic = "Sum", threshold = 0, periods = 5
      dimensions  = local.by_stack
      description = "Rank changes are not delivered: AppSync is down, throttles or forbids them. They stay in the outbox and are sent again."
    }
    "rank-changes-refused" = {
      namespace   = "Leaderboard", metric = "RankChangesRefused", statistic = "Sum", threshold = 0, periods = 1
      dimensions  = local.by_stack
      description = "AppSync refused rank changes for good. The notify function's log says why."
    }
    "rank-changes-late" = {
      namespace   = "AWS/SQS", metric = "ApproximateAgeOfOldestMessage", statistic = "Maximum", threshold = 60, periods = 3
      dimensions  = { QueueName = aws_sqs_queue.notify.name }
      description = "Rank changes are sent more than a minute late."
    }
    "notify-dead-letters" = {
      namespace   = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum", threshold = 0, periods = 1
      dimensions  = { QueueName = aws_sqs_queue.notify_dead_letters.name }
      description = "The notify function failed on messages 20 times: subscribers of their boards may miss changes."
    }
  }

  api_alarms = {
    "api-4xx" = {
      namespace   = "AWS/AppSync", metric = "4XXError", statistic = "Sum", threshold = var.alarm_thresholds.client_errors, periods = 5
      dimensions  = { GraphQLAPIId = aws_appsync_graphql_api.api.id }
      description = "AppSync refuses many requests: a key has ended, clients send what is not valid, or it throttles."
    }
    "api-5xx" = {
      namespace   = "AWS/AppSync", metric = "5XXError", statistic = "Sum", threshold = 0, periods = 3
      dimensions  = { GraphQLAPIId = aws_appsync_graphql_api.api.id }
      description = "AppSync itself fails."
    }
    "api-latency" = {
      namespace   = "AWS/AppSync", metric = "Latency", percentile = "p99", threshold = var.alarm_thresholds.latency_ms, periods = 5
      dimensions  = { GraphQLAPIId = aws_appsync_graphql_api.api.id }
      description = "One AppSync request in a hundred is slow."
    }
  }

  http_alarms = {
    for name, alarm in {
      "http-4xx" = {
        namespace   = "AWS/ApiGateway", metric = "4xx", statistic = "Sum", threshold = var.alarm_thresholds.client_errors, periods = 5
        description = "The HTTP API refuses many requests: signatures or tokens are not valid, or it throttles."
      }
      "http-5xx" = {
        namespace   = "AWS/ApiGateway", metric = "5xx", statistic = "Sum", threshold = 0, periods = 3
        description = "The HTTP API or its function fails."
      }
      "http-latency" = {
        namespace   = "AWS/ApiGateway", metric = "Latency", percentile = "p99", threshold = var.alarm_thresholds.latency_ms, periods = 5
        description = "One HTTP request in a hundred is slow."
      }
    } : name => merge(alarm, { dimensions = { ApiId = one(aws_apigatewayv2_api.http[*].id) } }) if local.with_http
  }

  alarms = merge(
    local.function_alarms, local.throttle_alarms, local.counting_alarms, local.notification_alarms, local.api_alarms, local.http_alarms,
  )
  log_metrics = { for name in keys(local.functions) : name => { namespace = "Leaderboard", name = "LoggedErrors-${var.name_prefix}-${name}" } }
}

# What functions log is JSON: resolvers/observability.py.
resource "aws_cloudwatch_log_metric_filter" "errors" {
  for_each = local.log_metrics

  name           = "${var.name_prefix}-${each.key}-logged-errors"
  log_group_name = aws_cloudwatch_log_group.function[each.key].name
  pattern        = "{ $.level = \"ERROR\" || $.level = \"CRITICAL\" }"

  metric_transformation {
    namespace = each.value.namespace
    name      = each.value.name
    value     = "1"
    unit      = "Count"
  }
}

resource "aws_cloudwatch_metric_alarm" "alarm" {
  for_each = local.alarms

  alarm_name          = "${var.name_prefix}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = try(each.value.statistic, null)
  extended_statistic  = try(each.value.percentile, null)
  comparison_operator = try(each.value.comparison, "GreaterThanThreshold")
  threshold           = each.value.threshold
  period              = try(each.value.period, 60)
  evaluation_periods  = each.value.periods
  treat_missing_data  = try(each.value.missing, "notBreaching")
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = local.tags
}
