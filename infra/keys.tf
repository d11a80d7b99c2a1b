# API keys. A key's days count from its creation, which is kept: a date that moved would change with every plan.
locals {
  # By name, to the hour, as AppSync rounds.
  key_ends = {
    for name, days in var.api_keys :
    name => timeadd(formatdate("YYYY-MM-DD'T'hh:00:00Z", terraform_data.api_key[name].input), "${days * 24}h")
  }
  # A month before, or halfway through a short life.
  key_warnings = { for name, days in var.api_keys : name => timeadd(local.key_ends[name], "-${min(30 * 24, days * 12)}h") }
}

resource "terraform_data" "api_key" {
  for_each = var.api_keys

  input = plantimestamp()

  lifecycle {
    ignore_changes = [input]
  }
}

resource "aws_appsync_api_key" "key" {
  for_each = var.api_keys

  api_id      = aws_appsync_graphql_api.api.id
  description = each.key
  expires     = local.key_ends[each.key]
}

# AWS has no metric for a key's end, so the alarm compares dates, as numbers such as 20270131. It takes the date from
# the timestamps of a metric that is always there.
resource "aws_cloudwatch_metric_alarm" "api_key" {
  for_each = var.api_keys

  alarm_name          = "${var.name_prefix}-api-key-${each.key}"
  alarm_description   = "The API key ${each.key} ends at ${local.key_ends[each.key]}: give clients another."
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = tonumber(formatdate("YYYYMMDD", local.key_warnings[each.key]))
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = local.tags

  metric_query {
    id          = "today"
    label       = "Today"
    expression  = "YEAR(runs) * 10000 + MONTH(runs) * 100 + DATE(runs)"
    return_data = true
  }

  metric_query {
    id = "runs"

    metric {
      namespace   = "AWS/Lambda"
      metric_name = "Invocations"
      dimensions  = { FunctionName = aws_lambda_function.function["maintenance"].function_name }
      period      = 3600
      stat        = "Sum"
    }
  }
}
