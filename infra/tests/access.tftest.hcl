# Who gets in: API keys, sign-in and the firewall.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "a_key_lives_a_year_by_default" {
  assert {
    condition     = aws_appsync_api_key.key["public"].expires == timeadd(formatdate("YYYY-MM-DD'T'hh:00:00Z", plantimestamp()), "8760h")
    error_message = "The default key ends in 365 days: ${aws_appsync_api_key.key["public"].expires}."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.api_key["public"].threshold == tonumber(formatdate("YYYYMMDD", timeadd(aws_appsync_api_key.key["public"].expires, "-720h")))
    error_message = "An alarm goes off 30 days before."
  }

  assert {
    condition     = output.api_key_ends.public == aws_appsync_api_key.key["public"].expires
    error_message = "The end is an output."
  }
}

run "a_plan_does_not_move_the_end" {
  command = plan

  variables {
    api_keys = { public = 365, web = 10 }
  }

  assert {
    condition     = aws_appsync_api_key.key["public"].expires == run.a_key_lives_a_year_by_default.api_key_ends.public
    error_message = "The end stays."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.api_key["web"].threshold == tonumber(formatdate("YYYYMMDD", timeadd(aws_appsync_api_key.key["web"].expires, "-120h")))
    error_message = "A short life's alarm goes off halfway."
  }
}

run "keys_end" {
  command = plan

  variables {
    api_keys = { web = 400 }
  }

  expect_failures = [var.api_keys]
}

run "only_tokens_of_these_clients" {
  command = plan

  variables {
    sign_in = { cognito_user_pool_id = "eu-west-1_AbC", client_ids = ["4f6", "7a8"] }
  }

  assert {
    condition     = one([for provider in aws_appsync_graphql_api.api.additional_authentication_provider : provider.user_pool_config[0].app_id_client_regex if provider.authentication_type == "AMAZON_COGNITO_USER_POOLS"]) == "^(4f6|7a8)$"
    error_message = "Cognito's clients are named."
  }
}

run "a_client_id_is_no_pattern" {
  command = plan

  variables {
    sign_in = { oidc_issuer = "https://issuer.example", client_ids = ["123.apps.example"] }
  }

  assert {
    condition     = one([for provider in aws_appsync_graphql_api.api.additional_authentication_provider : provider.openid_connect_config[0].client_id if provider.authentication_type == "OPENID_CONNECT"]) == "^(123\\.apps\\.example)$"
    error_message = "A dot stands for a dot alone."
  }
}

run "sign_in_needs_clients" {
  command = plan

  variables {
    sign_in = { oidc_issuer = "https://issuer.example", client_ids = [""] }
  }

  expect_failures = [var.sign_in]
}

run "the_firewall_counts_every_key" {
  command = plan

  variables {
    waf_rate_limit = 500
  }

  assert {
    condition = anytrue([
      for statement in one(aws_wafv2_web_acl.api[0].rule).statement[0].rate_based_statement[0].scope_down_statement[0].or_statement[0].statement :
      try(statement.size_constraint_statement[0].field_to_match[0].single_header[0].name == "x-api-key" && statement.size_constraint_statement[0].comparison_operator == "GE" && statement.size_constraint_statement[0].size == 0, false)
    ])
    error_message = "A request with an API key counts, whatever else it carries."
  }

  assert {
    condition = anytrue([
      for statement in one(aws_wafv2_web_acl.api[0].rule).statement[0].rate_based_statement[0].scope_down_statement[0].or_statement[0].statement :
      try(statement.not_statement[0].statement[0].byte_match_statement[0].field_to_match[0].single_header[0].name == "authorization", false)
    ])
    error_message = "A request without a signature counts."
  }
}
