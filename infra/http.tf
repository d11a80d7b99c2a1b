# The plain HTTP endpoint: an API Gateway HTTP API in front of the http function.
locals {
  with_http = var.http != null
  # A JWT's issuer. AppSync finds the pool itself; API Gateway needs its URL, and a pool's id starts with its region.
  issuer = local.with_cognito ? "https://cognito-idp.${split("_", var.sign_in.cognito_user_pool_id)[0]}.${data.aws_partition.current.dns_suffix}/${var.sign_in.cognito_user_pool_id}" : try(var.sign_in.oidc_issuer, null)
}

resource "aws_apigatewayv2_api" "http" {
  count = local.with_http ? 1 : 0

  name                         = "${var.name_prefix}-http"
  description                  = "Plain HTTP endpoint of the ${var.name_prefix} leaderboards."
  protocol_type                = "HTTP"
  disable_execute_api_endpoint = var.http.domain != null
  tags                         = local.tags

  # No cookie authorizes anything, so pages of any origin may ask. A wildcard does not cover `authorization`.
  cors_configuration {
    allow_origins = ["*"]
    allow_methods = ["GET", "POST"]
    allow_headers = ["authorization", "content-type", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"]
    max_age       = 600
  }
}

resource "aws_apigatewayv2_authorizer" "http" {
  count = try(var.http.authorization, null) == "JWT" ? 1 : 0

  api_id           = aws_apigatewayv2_api.http[0].id
  name             = "sign-in"
  authorizer_type  = "JWT"
  identity_sources = ["$request.header.Authorization"]

  jwt_configuration {
    issuer   = local.issuer
    audience = var.sign_in.client_ids
  }
}

resource "aws_apigatewayv2_integration" "http" {
  count = local.with_http ? 1 : 0

  api_id                 = aws_apigatewayv2_api.http[0].id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.live["http"].invoke_arn
  payload_format_version = "2.0"
}

resource "aws_apigatewayv2_route" "http" {
  for_each = toset(local.with_http ? ["GET /graphql", "POST /graphql", "GET /health"] : [])

  api_id             = aws_apigatewayv2_api.http[0].id
  route_key          = each.value
  authorization_type = var.http.authorization
  authorizer_id      = one(aws_apigatewayv2_authorizer.http[*].id)
  target             = "integrations/${aws_apigatewayv2_integration.http[0].id}"
}

resource "aws_cloudwatch_log_group" "http_access" {
  count = local.with_http ? 1 : 0

  name              = "/aws/vendedlogs/${var.name_prefix}-http-access"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_apigatewayv2_stage" "http" {
  count = local.with_http ? 1 : 0

  api_id          = aws_apigatewayv2_api.http[0].id
  name            = "$default"
  auto_deploy     = true
  stage_variables = { secret = local.event_secret }
  tags            = local.tags

  default_route_settings {
    throttling_rate_limit  = var.http.requests_per_second
    throttling_burst_limit = var.http.burst
  }

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.http_access[0].arn
    format = jsonencode({
      requestId = "$context.requestId"
      time      = "$context.requestTime"
      route     = "$context.routeKey"
      status    = "$context.status"
      latency   = "$context.responseLatency"
      error     = "$context.error.message"
      function  = "$context.integrationErrorMessage"
    })
  }
}

resource "aws_lambda_permission" "http" {
  count = local.with_http ? 1 : 0

  statement_id  = "http-api"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_alias.live["http"].function_name
  qualifier     = aws_lambda_alias.live["http"].name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.http[0].execution_arn}/*"
}

resource "aws_apigatewayv2_domain_name" "http" {
  count = try(var.http.domain, null) == null ? 0 : 1

  domain_name = var.http.domain.name
  tags        = local.tags

  domain_name_configuration {
    certificate_arn = var.http.domain.certificate_arn
    endpoint_type   = "REGIONAL"
    security_policy = "TLS_1_2"
  }
}

resource "aws_apigatewayv2_api_mapping" "http" {
  count = try(var.http.domain, null) == null ? 0 : 1

  api_id      = aws_apigatewayv2_api.http[0].id
  domain_name = aws_apigatewayv2_domain_name.http[0].domain_name
  stage       = aws_apigatewayv2_stage.http[0].id
}
