# What variables change.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

# `make e2e` checks that none of these replaces a table: a mock plans no replacement.
run "all_options_on" {
  variables {
    deletion_protection    = false
    point_in_time_recovery = false
    kms_key_arn            = "arn:aws:kms:eu-west-1:123456789012:key/one"
    tags                   = { team = "games" }
    architecture           = "x86_64"
    tracing                = true
    dynamodb_client        = "boto3"
    http                   = { authorization = "NONE" }
    sign_in                = { oidc_issuer = "https://issuer.example", client_ids = ["game"] }
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
    condition     = alltrue([for function in aws_lambda_function.function : function.environment[0].variables["LEADERBOARD_DYNAMODB_CLIENT"] == "boto3"])
    error_message = "The functions make requests to DynamoDB by boto3."
  }

  assert {
    condition     = aws_dynamodb_table.scores.billing_mode == "PROVISIONED" && length(aws_appautoscaling_policy.capacity) == 12
    error_message = "Capacity is provisioned and scales."
  }

  assert {
    condition     = strcontains(aws_appsync_graphql_api.api.schema, "type Query @aws_iam @aws_api_key @aws_oidc {") && strcontains(aws_appsync_graphql_api.api.schema, "type Mutation @aws_iam {")
    error_message = "Who signed in reads."
  }

  assert {
    condition     = length(regexall("submitScores?\\([^@]*@aws_iam @aws_oidc\n", aws_appsync_graphql_api.api.schema)) == 2 && length(regexall("@aws_oidc", regex("(?s)type Mutation .*?\n}", aws_appsync_graphql_api.api.schema))) == 2
    error_message = "Who signed in submits, and writes nothing else."
  }

  assert {
    condition     = alltrue([for name, policy in aws_iam_role_policy.function : strcontains(policy.policy, "kms:Decrypt") && strcontains(policy.policy, "xray:PutTraceSegments")])
    error_message = "Functions may use the key and the tracer."
  }

  assert {
    condition = contains(jsondecode(aws_iam_role_policy.schedule.policy).Statement, {
      Effect = "Allow", Action = ["kms:Decrypt"], Resource = var.kms_key_arn
    })
    error_message = "The scheduler may decrypt the schedule's input."
  }
}
