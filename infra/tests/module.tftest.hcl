# The folder as a module of somebody else's configuration.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "all_calls_go_to_the_alias" {
  assert {
    condition     = alltrue([for name, function in aws_lambda_function.function : function.publish && aws_lambda_alias.live[name].name == "live" && aws_lambda_alias.live[name].function_version == function.version])
    error_message = "Each apply publishes a version and moves the alias to it."
  }

  assert {
    condition = alltrue([
      aws_appsync_datasource.api.lambda_config[0].function_arn == aws_lambda_alias.live["api"].arn,
      aws_lambda_event_source_mapping.scores.function_name == aws_lambda_alias.live["stream"].arn,
      aws_lambda_event_source_mapping.bookkeeper.function_name == aws_lambda_alias.live["bookkeeper"].arn,
      aws_lambda_event_source_mapping.notify.function_name == aws_lambda_alias.live["notify"].arn,
      aws_scheduler_schedule.maintenance.target[0].arn == aws_lambda_alias.live["maintenance"].arn,
      strcontains(aws_iam_role_policy.api_calls.policy, aws_lambda_alias.live["api"].arn),
      strcontains(aws_iam_role_policy.schedule.policy, aws_lambda_alias.live["maintenance"].arn),
    ])
    error_message = "Nothing calls an unpublished version."
  }

  assert {
    condition     = output.api_arn == aws_appsync_graphql_api.api.arn && keys(output.table_arns) == ["boards", "counters", "receipts", "records", "scores"] && keys(output.role_arns) == keys(output.function_arns) && output.function_arns.api == aws_lambda_alias.live["api"].arn && keys(output.queue_urls) == ["bookkeeper", "failed", "notify", "notify_dead_letters"]
    error_message = "A caller's configuration can refer to what the stack has."
  }

  assert {
    condition     = aws_appsync_graphql_api.api.visibility == "GLOBAL" && length(aws_lambda_function.function["notify"].vpc_config) == 0 && length(aws_budgets_budget.stack) == 0 && output.domain_target == null
    error_message = "Options are off by default."
  }

  assert {
    condition     = aws_dynamodb_table.scores.tags == tomap({ leaderboard = "leaderboard" })
    error_message = "Costs are found by a tag."
  }
}

run "bounded_and_private" {
  variables {
    permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
    private_network      = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
    tags                 = { team = "games" }
  }

  assert {
    condition     = alltrue([for role in concat(values(aws_iam_role.function), [aws_iam_role.api_calls, aws_iam_role.schedule], aws_iam_role.api_logs) : role.permissions_boundary == var.permissions_boundary])
    error_message = "Every role is bounded."
  }

  assert {
    condition     = aws_appsync_graphql_api.api.visibility == "PRIVATE" && [for name, function in aws_lambda_function.function : name if length(function.vpc_config) > 0] == ["notify"]
    error_message = "The function that publishes reaches the private API."
  }

  assert {
    condition     = [for name, policy in aws_iam_role_policy.function : name if strcontains(policy.policy, "ec2:CreateNetworkInterface")] == ["notify"]
    error_message = "Only that function's role has network interfaces."
  }

  assert {
    condition     = aws_dynamodb_table.scores.tags == tomap({ leaderboard = "leaderboard", team = "games" })
    error_message = "Tags are added."
  }
}

run "an_own_domain" {
  variables {
    domain = { name = "api.scores.example", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" }
  }

  assert {
    condition     = output.api_url == "https://api.scores.example/graphql" && output.realtime_url == "wss://api.scores.example/graphql/realtime" && aws_appsync_domain_name_api_association.api[0].domain_name == "api.scores.example" && output.domain_target != null
    error_message = "Clients use the domain."
  }

  assert {
    condition     = aws_lambda_function.function["notify"].environment[0].variables.LEADERBOARD_API_URL == aws_appsync_graphql_api.api.uris["GRAPHQL"]
    error_message = "The function that publishes signs for AppSync's own host."
  }
}

run "a_domain_has_a_certificate_of_us_east_1" {
  command = plan

  variables {
    domain = { name = "api.scores.example", certificate_arn = "arn:aws:acm:eu-west-1:123456789012:certificate/1" }
  }

  expect_failures = [var.domain]
}

run "warm_and_budgeted" {
  command = plan

  variables {
    runtime                 = "python3.12"
    snap_start              = ["api"]
    provisioned_concurrency = { http = 2 }
    http                    = { authorization = "NONE" }
    budget                  = { usd_a_month = 50, emails = ["ops@scores.example"] }
  }

  assert {
    condition     = aws_lambda_function.function["api"].runtime == "python3.12" && [for name, function in aws_lambda_function.function : name if length(function.snap_start) > 0] == ["api"]
    error_message = "Snapshots are for those that ask for them."
  }

  assert {
    condition     = keys(aws_lambda_provisioned_concurrency_config.live) == ["http"] && aws_lambda_provisioned_concurrency_config.live["http"].qualifier == "live"
    error_message = "The alias is kept warm."
  }

  assert {
    condition     = aws_budgets_budget.stack[0].limit_amount == "50" && one(aws_budgets_budget.stack[0].cost_filter).values == tolist(["user:leaderboard$leaderboard"])
    error_message = "The budget is for this stack's costs."
  }
}

run "a_snapshot_needs_a_newer_python" {
  command = plan

  variables {
    runtime    = "python3.11"
    snap_start = ["api"]
  }

  expect_failures = [aws_lambda_function.function]
}

run "warm_in_one_way" {
  command = plan

  variables {
    snap_start              = ["api"]
    provisioned_concurrency = { api = 2 }
  }

  expect_failures = [var.provisioned_concurrency]
}
