data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  # Proves to a function that an event came through this stack's APIs, and so who calls: decision 8.
  event_secret = sensitive(terraform_data.event_secret.output)

  # The budget finds the stack's costs by the first tag.
  tags = merge({ leaderboard = var.name_prefix }, var.tags)

  account     = data.aws_caller_identity.current.account_id
  partition   = data.aws_partition.current.partition
  region      = data.aws_region.current.id # `name` is deprecated in provider 6, `region` unknown in 5
  package_dir = coalesce(var.package_dir, "${path.module}/../build/package")
  # The zips, and the Python that their bytecode is for.
  package = jsondecode(file("${local.package_dir}/package.json"))

  functions = {
    for name, function in {
      api         = { zip = "api", timeout = 30, what = "Answers AppSync." }
      http        = { zip = "http", timeout = 30, what = "Answers plain HTTP." }
      stream      = { zip = "worker", timeout = 120, what = "Counts changes of scores, and hands those of hot boards on." }
      bookkeeper  = { zip = "worker", timeout = 30, what = "Counts changes of hot boards." }
      notify      = { zip = "worker", timeout = 60, what = "Publishes rank changes to subscribers." }
      maintenance = { zip = "worker", timeout = 300, what = "Grows counter trees, writes archives, deletes boards and forgets participants." }
    } : name => function if name != "http" || local.with_http
  }

  environments = {
    api        = { LEADERBOARD_EVENT_SECRET_SHA256 = nonsensitive(sha256(local.event_secret)) }
    http       = { LEADERBOARD_EVENT_SECRET_SHA256 = nonsensitive(sha256(local.event_secret)) }
    stream     = { LEADERBOARD_NOTIFY_QUEUE_URL = aws_sqs_queue.notify.url, LEADERBOARD_BOOKKEEPER_QUEUE_URL = aws_sqs_queue.bookkeeper.url }
    bookkeeper = { LEADERBOARD_NOTIFY_QUEUE_URL = aws_sqs_queue.notify.url, LEADERBOARD_BOOKKEEPER_QUEUE_URL = aws_sqs_queue.bookkeeper.url }
    notify     = { LEADERBOARD_NOTIFY_QUEUE_URL = aws_sqs_queue.notify.url, LEADERBOARD_API_URL = aws_appsync_graphql_api.api.uris["GRAPHQL"] }
  }
}

# Random, and kept until it is replaced.
resource "terraform_data" "event_secret" {
  input = sensitive(uuid())

  lifecycle {
    ignore_changes = [input]
  }
}

resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${var.name_prefix}-${each.key}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_lambda_function" "function" {
  for_each = local.functions

  function_name                  = "${var.name_prefix}-${each.key}"
  description                    = each.value.what
  filename                       = "${local.package_dir}/${local.package.zips[each.value.zip]}"
  source_code_hash               = filebase64sha256("${local.package_dir}/${local.package.zips[each.value.zip]}")
  handler                        = "resolvers.${each.key}_handler.handler"
  runtime                        = coalesce(var.runtime, local.package.runtime)
  architectures                  = [var.architecture]
  memory_size                    = lookup(var.memory_size, each.key, 1024)
  timeout                        = each.value.timeout
  reserved_concurrent_executions = lookup(var.reserved_concurrency, each.key, -1)
  role                           = aws_iam_role.function[each.key].arn
  kms_key_arn                    = var.kms_key_arn
  publish                        = true
  tags                           = local.tags

  environment {
    variables = merge(lookup(local.environments, each.key, {}), {
      LEADERBOARD_NAME_PREFIX     = var.name_prefix
      LEADERBOARD_TRACING         = tostring(var.tracing)
      LEADERBOARD_RETENTION       = jsonencode(var.retention)
      LEADERBOARD_DYNAMODB_CLIENT = var.dynamodb_client
    })
  }

  logging_config {
    log_format = "Text" # the functions write JSON themselves, metrics included
    log_group  = aws_cloudwatch_log_group.function[each.key].name
  }

  tracing_config {
    mode = var.tracing ? "Active" : "PassThrough"
  }

  dynamic "snap_start" {
    for_each = contains(var.snap_start, each.key) ? [each.key] : []
    content {
      apply_on = "PublishedVersions"
    }
  }

  # Only notify calls the API, which in a private network has no other door.
  dynamic "vpc_config" {
    for_each = each.key == "notify" && var.private_network != null ? [var.private_network] : []
    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  lifecycle {
    precondition {
      condition     = !contains(var.snap_start, each.key) || tonumber(regex("^python3\\.(\\d+)$", coalesce(var.runtime, local.package.runtime))[0]) >= 12
      error_message = "snap_start: needs Python 3.12 or newer; package with one."
    }
  }

  # Without its permissions a function would fail its first calls.
  depends_on = [aws_iam_role_policy.function]
}

# What everything calls. Each apply that changes a function publishes a version and moves the alias to it.
resource "aws_lambda_alias" "live" {
  for_each = local.functions

  name             = "live"
  description      = "The version that is called."
  function_name    = aws_lambda_function.function[each.key].function_name
  function_version = aws_lambda_function.function[each.key].version
}

resource "aws_lambda_provisioned_concurrency_config" "live" {
  for_each = { for name, instances in var.provisioned_concurrency : name => instances if contains(keys(local.functions), name) }

  function_name                     = aws_lambda_alias.live[each.key].function_name
  qualifier                         = aws_lambda_alias.live[each.key].name
  provisioned_concurrent_executions = each.value
}
