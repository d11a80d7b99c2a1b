# Alarms, and what docs/operations.md says of them.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "by_default" {
  assert {
    condition     = length(aws_cloudwatch_metric_alarm.alarm) + length(aws_cloudwatch_metric_alarm.api_key) == tonumber(regex("alarms, (\\d+) \\(", file("${path.module}/../docs/operations.md"))[0])
    error_message = "The number of alarms in docs/operations.md is not Terraform's: ${length(aws_cloudwatch_metric_alarm.alarm) + length(aws_cloudwatch_metric_alarm.api_key)}."
  }

  assert {
    condition = alltrue([
      for name, index in { scores-by-rank = ["scores", "by_rank"], boards-by-id = ["boards", "by_id"], boards-by-due = ["boards", "by_due"] } : alltrue([
        for kind in ["Read", "Write"] :
        aws_cloudwatch_metric_alarm.alarm["${name}-${lower(kind)}-throttles"].metric_name == "${kind}ThrottleEvents" &&
        aws_cloudwatch_metric_alarm.alarm["${name}-${lower(kind)}-throttles"].dimensions == tomap({ TableName = "leaderboard-${index[0]}", GlobalSecondaryIndexName = index[1] })
      ])
    ])
    error_message = "Throttles of indexes are not among their table's."
  }

  assert {
    condition = alltrue([
      for name, function in aws_lambda_function.function :
      aws_cloudwatch_log_metric_filter.errors[name].log_group_name == "/aws/lambda/${function.function_name}" &&
      aws_cloudwatch_log_metric_filter.errors[name].metric_transformation[0].name == aws_cloudwatch_metric_alarm.alarm["${name}-logged-errors"].metric_name &&
      aws_cloudwatch_log_metric_filter.errors[name].metric_transformation[0].namespace == aws_cloudwatch_metric_alarm.alarm["${name}-logged-errors"].namespace
    ])
    error_message = "What a function catches and logs is an alarm of that function."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.alarm["maintenance-missing"].treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.alarm["maintenance-missing"].comparison_operator == "LessThanThreshold"
    error_message = "Silence of maintenance is an alarm."
  }

  assert {
    condition     = alltrue([for name, alarm in aws_cloudwatch_metric_alarm.alarm : alarm.treat_missing_data == "notBreaching" if name != "maintenance-missing"])
    error_message = "Silence is an alarm nowhere else."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.alarm["undelivered-records"].metric_name == "DestinationDeliveryFailures" && aws_cloudwatch_metric_alarm.alarm["undelivered-records"].dimensions.FunctionName == "leaderboard-stream"
    error_message = "Records that reach no queue are an alarm."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.alarm["counting-lag"].metric_name == "IteratorAge" && aws_cloudwatch_metric_alarm.alarm["api-4xx"].metric_name == "4XXError" && aws_cloudwatch_metric_alarm.alarm["api-latency"].extended_statistic == "p99"
    error_message = "Age of the stream, refused requests and latency are alarms."
  }
}

run "with_http" {
  variables {
    http             = { authorization = "NONE" }
    alarm_thresholds = { latency_ms = 300 }
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.alarm) + length(aws_cloudwatch_metric_alarm.api_key) == tonumber(regex("alarms, \\d+ \\((\\d+) with the HTTP endpoint\\)", file("${path.module}/../docs/operations.md"))[0])
    error_message = "The number of alarms with the HTTP endpoint in docs/operations.md is not Terraform's: ${length(aws_cloudwatch_metric_alarm.alarm) + length(aws_cloudwatch_metric_alarm.api_key)}."
  }

  # A name in the table may stand for each function, table, index or key.
  assert {
    condition = toset([for alarm in concat(values(aws_cloudwatch_metric_alarm.alarm), values(aws_cloudwatch_metric_alarm.api_key)) : trimprefix(alarm.alarm_name, "leaderboard-")]) == toset(flatten([
      for row in regexall("(?m)^\\| ([a-z0-9*, -]+) \\|.*\\|.*\\|$", regex("(?s)## Alarms\n(.*?)\n## ", file("${path.module}/../docs/operations.md"))[0]) : [
        for name in split(", ", row[0]) : [
          for each in(
            strcontains(name, "*function*") ? keys(output.function_names) :
            strcontains(name, "*table*") ? keys(output.table_names) :
            strcontains(name, "*index*") ? ["scores-by-rank", "boards-by-id", "boards-by-due"] :
            strcontains(name, "*key*") ? keys(var.api_keys) : [""]
          ) : replace(name, "/\\*[a-z]+\\*/", each)
        ]
      ] if row[0] != "alarm"
    ]))
    error_message = "The alarms in docs/operations.md are not Terraform's: ${join(", ", keys(aws_cloudwatch_metric_alarm.alarm))}."
  }

  assert {
    condition     = alltrue([for name in ["4xx", "5xx", "latency"] : aws_cloudwatch_metric_alarm.alarm["http-${name}"].dimensions.ApiId == aws_apigatewayv2_api.http[0].id])
    error_message = "The HTTP API has alarms of its own."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.alarm["http-latency"].threshold == 300 && aws_cloudwatch_metric_alarm.alarm["api-latency"].threshold == 300
    error_message = "Thresholds are variables."
  }
}
