# What variables accept and change. The provider is a mock: no call is made.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { name = "eu-west-1" }
  }
  mock_resource "aws_appsync_graphql_api" {
    defaults = {
      arn  = "arn:aws:appsync:eu-west-1:123456789012:apis/api"
      uris = { GRAPHQL = "https://api/graphql", REALTIME = "wss://api/graphql" }
    }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:one" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/one" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-west-1:123456789012:queue" }
  }
  mock_resource "aws_wafv2_web_acl" {
    defaults = { arn = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/one/1" }
  }
}

variables {
  package_dir = "./tests/package"
}

run "defaults_are_safe" {
  command = plan

  assert {
    condition = alltrue([
      for table in [aws_dynamodb_table.scores, aws_dynamodb_table.counters, aws_dynamodb_table.boards, aws_dynamodb_table.records, aws_dynamodb_table.receipts] :
      table.deletion_protection_enabled && table.point_in_time_recovery[0].enabled && table.billing_mode == "PAY_PER_REQUEST"
    ])
    error_message = "Tables are protected from deletion, restorable and on demand."
  }

  assert {
    condition     = length(aws_lambda_function_url.http) == 0 && !contains(keys(aws_lambda_function.function), "http")
    error_message = "There is no plain HTTP endpoint unless it is asked for."
  }

  assert {
    condition     = aws_appsync_graphql_api.api.authentication_type == "AWS_IAM"
    error_message = "What is not marked in the schema is for IAM."
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
    error_message = "No mark is for a way to sign in that is not enabled."
  }

  assert {
    condition = alltrue([
      for name, resolver in aws_appsync_resolver.publish :
      resolver.data_source == "none" && length(regexall("${name}\\(.*@aws_iam\n", aws_appsync_graphql_api.api.schema)) == 1
    ])
    error_message = "Events are published by IAM alone, and AppSync hands them on itself."
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
    condition     = aws_appsync_resolver.field["Entry.rank"].max_batch_size >= 1000 && strcontains(aws_appsync_resolver.field["Entry.rank"].code, "'BatchInvoke'")
    error_message = "The ranks of the largest page are one call."
  }

  assert {
    condition     = aws_appsync_resolver.field["Mutation.submitScore"].max_batch_size == 0 && strcontains(aws_appsync_resolver.field["Mutation.submitScore"].code, "'Invoke'")
    error_message = "Submissions are calls of their own."
  }
}

# `make e2e` checks that none of these replaces a table: a mock plans no replacement.
run "all_options_on" {
  command = plan

  variables {
    deletion_protection    = false
    point_in_time_recovery = false
    kms_key_arn            = "arn:aws:kms:eu-west-1:123456789012:key/one"
    tags                   = { team = "games" }
    architecture           = "x86_64"
    tracing                = true
    http_authorization     = "NONE"
    sign_in                = { oidc_issuer = "https://issuer.example" }
    waf_rate_limit         = 500
    api_keys               = {}
    memory_size            = { api = 2048 }
    reserved_concurrency   = { stream = 10 }
    provisioned_capacity = {
      scores   = { read_min = 5, read_max = 100, write_min = 10, write_max = 200 }
      counters = { read_min = 5, read_max = 100, write_min = 5, write_max = 100 }
      boards   = { read_min = 1, read_max = 10, write_min = 1, write_max = 10 }
    }
  }

  assert {
    condition     = aws_dynamodb_table.scores.billing_mode == "PROVISIONED" && length(aws_appautoscaling_policy.capacity) == 10
    error_message = "Capacity is provisioned and scales."
  }

  assert {
    condition     = strcontains(aws_appsync_graphql_api.api.schema, "type Query @aws_iam @aws_api_key @aws_oidc {") && strcontains(aws_appsync_graphql_api.api.schema, "type Mutation @aws_iam {")
    error_message = "Who signs in reads."
  }

  assert {
    condition     = length(regexall("submitScores?\\(.*: .* @aws_iam @aws_oidc\n", aws_appsync_graphql_api.api.schema)) == 2 && length(regexall("@aws_oidc", regex("(?s)type Mutation .*?\n}", aws_appsync_graphql_api.api.schema))) == 2
    error_message = "Who signs in submits, and writes nothing else."
  }

  assert {
    condition     = alltrue([for name, policy in aws_iam_role_policy.function : strcontains(policy.policy, "kms:Decrypt") && strcontains(policy.policy, "xray:PutTraceSegments") if !contains(["stream", "notify"], name)])
    error_message = "Functions may use the key and the tracer."
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
      [for alarm in aws_cloudwatch_metric_alarm.alarm : startswith(alarm.alarm_name, "other-")],
      [startswith(aws_sqs_queue.failed.name, "other-"), startswith(aws_scheduler_schedule.maintenance.name, "other-")],
    ))
    error_message = "Every name starts with the prefix."
  }
}

run "bad_values_are_refused" {
  command = plan

  variables {
    name_prefix          = "Race!"
    kms_key_arn          = "my-key"
    architecture         = "mips"
    memory_size          = { api = 64 }
    reserved_concurrency = { queries = 1 }
    log_retention_days   = 31
    retention            = { grace_hours = 48, daily_days = 2 }
    api_log_level        = "WARN"
    api_keys             = { web = "2027-01-01T00:30:00Z" }
    sign_in              = {}
    query_depth_limit    = 100
    resolver_count_limit = 0
    waf_rate_limit       = 1
    http_authorization   = "OPEN"
    stream               = { batch_size = 0 }
    provisioned_capacity = { scores = { read_min = 0, read_max = 1, write_min = 1, write_max = 1 } }
  }

  expect_failures = [
    var.name_prefix,
    var.kms_key_arn,
    var.architecture,
    var.memory_size,
    var.reserved_concurrency,
    var.log_retention_days,
    var.retention,
    var.api_log_level,
    var.api_keys,
    var.sign_in,
    var.query_depth_limit,
    var.resolver_count_limit,
    var.waf_rate_limit,
    var.http_authorization,
    var.stream,
    var.provisioned_capacity,
  ]
}
