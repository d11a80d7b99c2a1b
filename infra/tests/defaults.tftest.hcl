# What a stack is without any variable.
mock_provider "aws" {
  source = "./tests/mocks"
}

override_resource {
  target = aws_sqs_queue.notify_dead_letters
  values = { arn = "arn:aws:sqs:eu-west-1:123456789012:dead-letters" }
}

variables {
  package_dir = "./tests/package"
}

run "defaults_are_safe" {
  assert {
    condition = alltrue([
      for table in [aws_dynamodb_table.scores, aws_dynamodb_table.counters, aws_dynamodb_table.boards, aws_dynamodb_table.records, aws_dynamodb_table.receipts] :
      table.deletion_protection_enabled && table.point_in_time_recovery[0].enabled && table.billing_mode == "PAY_PER_REQUEST"
    ])
    error_message = "Tables are protected from deletion, restorable and on demand."
  }

  assert {
    condition     = length(aws_apigatewayv2_api.http) == 0 && output.http_url == null && !contains(keys(aws_lambda_function.function), "http")
    error_message = "There is no plain HTTP endpoint unless asked for."
  }

  assert {
    condition     = aws_appsync_graphql_api.api.authentication_type == "AWS_IAM"
    error_message = "Fields without a directive are for IAM."
  }

  assert {
    condition     = length(regexall("type Mutation @aws_iam \\{", aws_appsync_graphql_api.api.schema)) == 1
    error_message = "Only IAM writes."
  }

  assert {
    condition     = length(regexall("(?m)^type \\w+ @aws_iam @aws_api_key \\{", aws_appsync_graphql_api.api.schema)) == length(regexall("(?m)^type ", aws_appsync_graphql_api.api.schema)) - 1
    error_message = "A key reads every other type."
  }

  assert {
    condition     = !strcontains(aws_appsync_graphql_api.api.schema, "@aws_oidc") && !strcontains(aws_appsync_graphql_api.api.schema, "@aws_cognito")
    error_message = "No directive is for a way to sign in that is not enabled."
  }

  assert {
    condition = alltrue([
      for name, resolver in aws_appsync_resolver.publish :
      resolver.data_source == "none" && length(regexall("${name}\\([^@]*@aws_iam\n", aws_appsync_graphql_api.api.schema)) == 1
    ])
    error_message = "Only IAM publishes events, and AppSync itself passes them on."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.scores.parallelization_factor == 1 && aws_lambda_event_source_mapping.scores.tumbling_window_in_seconds > 0
    error_message = "One batch of a stream shard is in flight at a time, and names its shard."
  }

  assert {
    condition     = aws_sqs_queue.notify.visibility_timeout_seconds >= aws_lambda_function.function["notify"].timeout && aws_sqs_queue.notify.message_retention_seconds >= 86400
    error_message = "A message is not delivered again during its pass, and outlasts an outage."
  }

  assert {
    condition     = aws_appsync_resolver.field["Entry.rank"].max_batch_size >= 1000 && nonsensitive(strcontains(aws_appsync_resolver.field["Entry.rank"].code, "'BatchInvoke'"))
    error_message = "The ranks of the largest page are one call."
  }

  assert {
    condition     = aws_appsync_resolver.field["Mutation.submitScore"].max_batch_size == 0 && nonsensitive(strcontains(aws_appsync_resolver.field["Mutation.submitScore"].code, "'Invoke'"))
    error_message = "Submissions are calls of their own."
  }
}

run "queues_and_streams" {
  assert {
    condition     = jsondecode(aws_sqs_queue.notify.redrive_policy).deadLetterTargetArn == "arn:aws:sqs:eu-west-1:123456789012:dead-letters" && jsondecode(aws_sqs_queue.notify.redrive_policy).maxReceiveCount >= 5
    error_message = "A message that always fails leaves the queue."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.alarm["notify-dead-letters"].dimensions.QueueName == aws_sqs_queue.notify_dead_letters.name
    error_message = "Dead letters are an alarm."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.notify.scaling_config[0].maximum_concurrency == 5 && aws_lambda_event_source_mapping.scores.parallelization_factor == 1
    error_message = "Consumers have a maximum concurrency."
  }
}

run "two_stacks_share_no_name" {
  command = plan

  variables {
    name_prefix = "other"
  }

  assert {
    condition = alltrue(concat(
      [for name in values(output.table_names) : startswith(name, "other-")],
      [for name in values(output.function_names) : startswith(name, "other-")],
      [for role in aws_iam_role.function : startswith(role.name, "other-")],
      [for alarm in concat(values(aws_cloudwatch_metric_alarm.alarm), values(aws_cloudwatch_metric_alarm.api_key)) : startswith(alarm.alarm_name, "other-")],
      [startswith(aws_sqs_queue.failed.name, "other-"), startswith(aws_scheduler_schedule.maintenance.name, "other-")],
    ))
    error_message = "Every name starts with the prefix."
  }
}
