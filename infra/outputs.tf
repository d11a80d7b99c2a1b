output "api_id" {
  description = "AppSync's id of the API."
  value       = aws_appsync_graphql_api.api.id
}

output "api_arn" {
  description = "The API's ARN. A caller needs appsync:GraphQL on <api_arn>/types/<type>/fields/<field>."
  value       = aws_appsync_graphql_api.api.arn
}

output "api_url" {
  description = "Where GraphQL requests go."
  value       = var.domain == null ? aws_appsync_graphql_api.api.uris["GRAPHQL"] : "https://${var.domain.name}/graphql"
}

output "realtime_url" {
  description = "Where subscriptions connect."
  value       = var.domain == null ? aws_appsync_graphql_api.api.uris["REALTIME"] : "wss://${var.domain.name}/graphql/realtime"
}

output "domain_target" {
  description = "What a DNS alias of `domain` points to; null without one."
  value = one([
    for domain in aws_appsync_domain_name.api : { name = domain.appsync_domain_name, zone_id = domain.hosted_zone_id }
  ])
}

output "api_keys" {
  description = "The API keys, by the names they were given."
  value       = { for name, key in aws_appsync_api_key.key : name => key.key }
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

output "http_api_id" {
  description = "API Gateway's id of the HTTP API; null without `http`."
  value       = one(aws_apigatewayv2_api.http[*].id)
}

output "http_api_arn" {
  description = "What a caller needs execute-api:Invoke on, followed by /$default/<method>/graphql; null without `http`."
  value       = one(aws_apigatewayv2_api.http[*].execution_arn)
}

output "http_domain_target" {
  description = "What a DNS alias of `http.domain` points to; null without one."
  value = one([
    for domain in aws_apigatewayv2_domain_name.http[*].domain_name_configuration[0] :
    { name = domain.target_domain_name, zone_id = domain.hosted_zone_id }
  ])
}

output "table_names" {
  description = "The tables' names, by what they hold."
  value       = { for name, table in local.tables : name => table.name }
}

output "table_arns" {
  description = "The tables' ARNs, by what they hold."
  value       = { for name, table in local.tables : name => table.arn }
}

output "function_names" {
  description = "The functions' names, by what they do."
  value       = { for name, function in aws_lambda_function.function : name => function.function_name }
}

output "function_arns" {
  description = "The ARNs of the functions' alias `live`, by what they do."
  value       = { for name, alias in aws_lambda_alias.live : name => alias.arn }
}

output "role_arns" {
  description = "The functions' roles, by what the functions do."
  value       = { for name, role in aws_iam_role.function : name => role.arn }
}

output "queue_urls" {
  description = "The queues: `bookkeeper`, `notify`, and where `failed` changes and `notify_dead_letters` end."
  value = {
    bookkeeper          = aws_sqs_queue.bookkeeper.url
    notify              = aws_sqs_queue.notify.url
    notify_dead_letters = aws_sqs_queue.notify_dead_letters.url
    failed              = aws_sqs_queue.failed.url
  }
}

output "alarm_arns" {
  description = "The alarms' ARNs, by name."
  value       = { for alarm in concat(values(aws_cloudwatch_metric_alarm.alarm), values(aws_cloudwatch_metric_alarm.api_key)) : trimprefix(alarm.alarm_name, "${var.name_prefix}-") => alarm.arn }
}

output "dashboard_url" {
  description = "The stack's dashboard in the AWS console."
  value       = "https://${local.region}.console.aws.amazon.com/cloudwatch/home?region=${local.region}#dashboards/dashboard/${aws_cloudwatch_dashboard.stack.dashboard_name}"
}
