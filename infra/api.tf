locals {
  # The schema has directives for every way to sign in; AppSync refuses those of a way that is not enabled.
  with_cognito = try(var.sign_in.cognito_user_pool_id, null) != null
  with_oidc    = try(var.sign_in.oidc_issuer, null) != null
  # Without descriptions, which AppSync may refuse (decision 7).
  plain_schema = replace(file("${path.module}/../schema.graphql"), "/(?s) *\"\"\".*?\"\"\"\n/", "")
  schema = replace(
    replace(
      local.plain_schema,
      " @aws_cognito_user_pools", local.with_cognito ? " @aws_cognito_user_pools" : ""
    ),
    " @aws_oidc", local.with_oidc ? " @aws_oidc" : ""
  )

  # Tokens of these clients alone. AppSync takes a pattern.
  client_pattern = var.sign_in == null ? null : "^(${join("|", [
    for id in var.sign_in.client_ids : replace(id, "/[.*+?^$(){}|\\[\\]\\\\]/", "\\$0")
  ])})$"

  # By type and field: the largest batch of calls in one invocation, 0 for one call each.
  fields = merge([
    for type, fields in jsondecode(file("${path.module}/../resolvers/appsync_fields.json")) : {
      for field, batch in fields : "${type}.${field}" => { type = type, field = field, batch = batch }
    }
  ]...)
}

resource "aws_appsync_graphql_api" "api" {
  name                 = var.name_prefix
  schema               = local.schema
  authentication_type  = "AWS_IAM"
  xray_enabled         = var.tracing
  query_depth_limit    = var.query_depth_limit
  resolver_count_limit = var.resolver_count_limit
  visibility           = var.private_network == null ? "GLOBAL" : "PRIVATE"
  introspection_config = var.introspection ? "ENABLED" : "DISABLED"
  tags                 = local.tags

  additional_authentication_provider {
    authentication_type = "API_KEY"
  }

  dynamic "additional_authentication_provider" {
    for_each = local.with_cognito ? [var.sign_in.cognito_user_pool_id] : []
    content {
      authentication_type = "AMAZON_COGNITO_USER_POOLS"
      user_pool_config {
        user_pool_id        = additional_authentication_provider.value
        app_id_client_regex = local.client_pattern
      }
    }
  }

  dynamic "additional_authentication_provider" {
    for_each = local.with_oidc ? [var.sign_in.oidc_issuer] : []
    content {
      authentication_type = "OPENID_CONNECT"
      openid_connect_config {
        issuer    = additional_authentication_provider.value
        client_id = local.client_pattern
      }
    }
  }

  dynamic "log_config" {
    for_each = aws_iam_role.api_logs
    content {
      cloudwatch_logs_role_arn = log_config.value.arn
      field_log_level          = var.api_log_level
      exclude_verbose_content  = true # headers with keys in them, and what clients send
    }
  }
}

resource "aws_appsync_domain_name" "api" {
  count = var.domain == null ? 0 : 1

  domain_name     = var.domain.name
  certificate_arn = var.domain.certificate_arn
}

resource "aws_appsync_domain_name_api_association" "api" {
  count = var.domain == null ? 0 : 1

  api_id      = aws_appsync_graphql_api.api.id
  domain_name = aws_appsync_domain_name.api[0].domain_name
}

# AppSync writes to this group by its id; it would create it itself without a retention.
resource "aws_cloudwatch_log_group" "api" {
  count = var.api_log_level == "NONE" ? 0 : 1

  name              = "/aws/appsync/apis/${aws_appsync_graphql_api.api.id}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_appsync_datasource" "api" {
  api_id           = aws_appsync_graphql_api.api.id
  name             = "resolvers"
  type             = "AWS_LAMBDA"
  service_role_arn = aws_iam_role.api_calls.arn

  lambda_config {
    function_arn = aws_lambda_alias.live["api"].arn
  }
}

resource "aws_appsync_resolver" "field" {
  for_each = local.fields

  api_id         = aws_appsync_graphql_api.api.id
  type           = each.value.type
  field          = each.value.field
  data_source    = aws_appsync_datasource.api.name
  max_batch_size = each.value.batch
  code = templatefile("${path.module}/resolver.js", {
    operation = each.value.batch > 0 ? "BatchInvoke" : "Invoke"
    secret    = local.event_secret
  })

  runtime {
    name            = "APPSYNC_JS"
    runtime_version = "1.0.0"
  }
}

# AppSync itself passes an event on to subscribers.
resource "aws_appsync_datasource" "none" {
  api_id = aws_appsync_graphql_api.api.id
  name   = "none"
  type   = "NONE"
}

resource "aws_appsync_resolver" "publish" {
  for_each = toset(["publishRankBucketChange", "publishTopChange"])

  api_id      = aws_appsync_graphql_api.api.id
  type        = "Mutation"
  field       = each.value
  data_source = aws_appsync_datasource.none.name
  code        = file("${path.module}/publish.js")

  runtime {
    name            = "APPSYNC_JS"
    runtime_version = "1.0.0"
  }
}
