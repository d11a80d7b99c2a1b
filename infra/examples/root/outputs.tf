output "api_url" {
  description = "Where GraphQL requests go."
  value       = module.leaderboard.api_url
}

output "api_keys" {
  description = "The API keys, by name."
  value       = module.leaderboard.api_keys
  sensitive   = true
}

output "policy_arns" {
  description = "What to attach to the roles of game servers and operators."
  value       = { game_server = aws_iam_policy.game_server.arn, operator = aws_iam_policy.operator.arn }
}
