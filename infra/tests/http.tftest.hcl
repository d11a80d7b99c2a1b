# The plain HTTP endpoint.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "anyone_reads" {
  variables {
    http = { authorization = "NONE", requests_per_second = 5, burst = 7 }
  }

  assert {
    condition     = keys(aws_apigatewayv2_route.http) == ["GET /graphql", "GET /health", "POST /graphql"] && alltrue([for route in aws_apigatewayv2_route.http : route.authorization_type == "NONE"])
    error_message = "Only these routes reach the function."
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.http[0].default_route_settings).throttling_rate_limit == 5 && one(aws_apigatewayv2_stage.http[0].default_route_settings).throttling_burst_limit == 7
    error_message = "Requests are throttled."
  }

  assert {
    condition     = nonsensitive(sha256(aws_apigatewayv2_stage.http[0].stage_variables.secret)) == aws_lambda_function.function["http"].environment[0].variables.LEADERBOARD_EVENT_SECRET_SHA256 && nonsensitive(length(aws_apigatewayv2_stage.http[0].stage_variables.secret)) >= 32
    error_message = "The function knows the hash of the stage's secret, and not the secret."
  }

  assert {
    condition = nonsensitive(alltrue([
      for resolver in aws_appsync_resolver.field :
      strcontains(resolver.code, "secret: '${aws_apigatewayv2_stage.http[0].stage_variables.secret}'")
    ]))
    error_message = "Every call of AppSync carries the secret."
  }

  assert {
    condition     = aws_lambda_function.function["api"].environment[0].variables == aws_lambda_function.function["http"].environment[0].variables
    error_message = "The api function knows the same hash."
  }

  assert {
    condition     = aws_lambda_permission.http[0].principal == "apigateway.amazonaws.com" && aws_lambda_permission.http[0].source_arn == "${aws_apigatewayv2_api.http[0].execution_arn}/*"
    error_message = "Only this API invokes the function."
  }

  assert {
    condition     = output.http_url == aws_apigatewayv2_api.http[0].api_endpoint
    error_message = "The API's own URL is the endpoint's."
  }
}

run "the_next_plan" {
  command = plan

  variables {
    http = { authorization = "AWS_IAM", domain = { name = "scores.example", certificate_arn = "arn:aws:acm:eu-west-1:123456789012:certificate/1" } }
  }

  assert {
    condition     = nonsensitive(length(aws_apigatewayv2_stage.http[0].stage_variables.secret)) >= 32
    error_message = "The secret is known before the apply: it stays."
  }

  assert {
    condition     = output.http_url == "https://scores.example" && aws_apigatewayv2_api.http[0].disable_execute_api_endpoint && aws_apigatewayv2_api_mapping.http[0].domain_name == "scores.example"
    error_message = "An own domain replaces the API's URL."
  }

  assert {
    condition     = alltrue([for route in aws_apigatewayv2_route.http : route.authorization_type == "AWS_IAM"])
    error_message = "Every route wants a signature."
  }
}

run "signed_in_users_by_token" {
  command = plan

  variables {
    sign_in = { cognito_user_pool_id = "us-west-2_AbC", client_ids = ["web", "game"] }
    http    = { authorization = "JWT" }
  }

  assert {
    condition     = one(aws_apigatewayv2_authorizer.http[0].jwt_configuration).issuer == "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_AbC" && one(aws_apigatewayv2_authorizer.http[0].jwt_configuration).audience == toset(["game", "web"])
    error_message = "Only tokens of this pool for these clients are taken."
  }

  assert {
    condition     = alltrue([for route in aws_apigatewayv2_route.http : route.authorization_type == "JWT"])
    error_message = "Every route wants a token."
  }
}

run "tokens_need_an_issuer" {
  command = plan

  variables {
    http = { authorization = "JWT" }
  }

  expect_failures = [var.http]
}

run "there_is_no_other_authorization" {
  command = plan

  variables {
    http = { authorization = "OPEN", burst = 0 }
  }

  expect_failures = [var.http]
}
