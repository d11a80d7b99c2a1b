# What AWS would answer.
mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012" }
}
mock_data "aws_partition" {
  defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
}
mock_data "aws_region" {
  defaults = { id = "eu-west-1" }
}
mock_resource "aws_appsync_graphql_api" {
  defaults = {
    arn  = "arn:aws:appsync:eu-west-1:123456789012:apis/api"
    uris = { GRAPHQL = "https://api/graphql", REALTIME = "wss://api/graphql" }
  }
}
mock_resource "aws_lambda_function" {
  defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mock" }
}
mock_resource "aws_lambda_alias" {
  defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mock:live" }
}
mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
}
mock_resource "aws_sqs_queue" {
  defaults = { arn = "arn:aws:sqs:eu-west-1:123456789012:queue" }
}
mock_resource "aws_wafv2_web_acl" {
  defaults = { arn = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/mock/1" }
}
mock_resource "aws_apigatewayv2_api" {
  defaults = {
    id            = "http-api"
    api_endpoint  = "https://http-api.execute-api.eu-west-1.amazonaws.com"
    execution_arn = "arn:aws:execute-api:eu-west-1:123456789012:http-api"
  }
}
mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:mock" }
}
mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-west-1:123456789012:mock" }
}
mock_resource "aws_kms_key" {
  defaults = { arn = "arn:aws:kms:eu-west-1:123456789012:key/mock" }
}
