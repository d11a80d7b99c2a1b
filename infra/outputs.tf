output "api_url" {
  description = "Where GraphQL requests go."
  value       = aws_appsync_graphql_api.api.uris["GRAPHQL"]
}

output "realtime_url" {
  description = "Where subscriptions connect."
  value       = aws_appsync_graphql_api.api.uris["REALTIME"]
}

output "api_id" {
  description = "AppSync's id of the API."
  value       = aws_appsync_graphql_api.api.id
}

output "api_keys" {
  description = "The API keys, by the names they were given."
  value       = { for name, one in aws_appsync_api_key.key : name => one.key }
  sensitive   = true
}

output "api_key_ends" {
  description = "When each API key ends."
  value       = local.key_ends
}

output "http_url" {
  description = "The plain HTTP endpoint; null without `http`."
  value       = try("https://${var.http.domain.name}", one(aws_apigatewayv2_api.http[*].api_endpoint))
}

output "http_domain_target" {
  description = "What a DNS alias of `http.domain` points to; null without one."
  value = one([
    for domain in aws_apigatewayv2_domain_name.http[*].domain_name_configuration[0] :
    { name = domain.target_domain_name, zone_id = domain.hosted_zone_id }
  ])
}

output "http_api_id" {
  description = "API Gateway's id of the HTTP API, for IAM policies (execute-api:Invoke); null without `http`."
  value       = one(aws_apigatewayv2_api.http[*].id)
}

output "table_names" {
  description = "The tables' names, by what they hold."
  value       = { for name, table in local.tables : name => table.name }
}

output "function_names" {
  description = "The functions' names, by what they do."
  value       = { for name, function in aws_lambda_function.function : name => function.function_name }
}

output "failure_queue_url" {
  description = "Where changes end that could not be counted."
  value       = aws_sqs_queue.failed.url
}

output "dashboard_url" {
  description = "The stack's dashboard in the AWS console."
  value       = "https://${local.region}.console.aws.amazon.com/cloudwatch/home?region=${local.region}#dashboards/dashboard/${aws_cloudwatch_dashboard.stack.dashboard_name}"
}
