# What no one asked for: the scores' changes, and the clock.
resource "aws_sqs_queue" "failed" {
  name                      = "${var.name_prefix}-failed"
  message_retention_seconds = 1209600 # 14 days
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags
}

resource "aws_lambda_event_source_mapping" "scores" {
  function_name     = aws_lambda_function.function["stream"].arn
  event_source_arn  = aws_dynamodb_table.scores.stream_arn
  starting_position = "TRIM_HORIZON"
  tags              = var.tags

  batch_size                         = var.stream.batch_size
  maximum_batching_window_in_seconds = var.stream.batch_window

  # Each counter remembers, by shard, up to where it has counted. So one batch of a shard is in flight at a time,
  # and the function must be told the shard: only events of a window name it. Windows are otherwise not used.
  parallelization_factor     = 1
  tumbling_window_in_seconds = 900

  # A malformed record is set aside by the function. Whatever fails a batch is passing, so it is tried for long;
  # halving narrows a lasting failure down to its record. Before the stream forgets a record (24 hours), it goes to
  # the queue, which raises an alarm.
  bisect_batch_on_function_error = true
  maximum_retry_attempts         = var.stream.retry_attempts
  maximum_record_age_in_seconds  = 82800

  destination_config {
    on_failure {
      destination_arn = aws_sqs_queue.failed.arn
    }
  }

  depends_on = [aws_iam_role_policy.function]
}

# Whose rank changes are due. A message is a tick of one order; one that fails asks for another by itself.
resource "aws_sqs_queue" "notify" {
  name                       = "${var.name_prefix}-notify"
  visibility_timeout_seconds = 120   # twice as long as the function takes
  message_retention_seconds  = 86400 # longer than any outage: ticks are kept until they are made
  kms_master_key_id          = var.kms_key_arn
  sqs_managed_sse_enabled    = var.kms_key_arn == null ? true : null
  tags                       = var.tags
}

resource "aws_lambda_event_source_mapping" "notify" {
  function_name    = aws_lambda_function.function["notify"].arn
  event_source_arn = aws_sqs_queue.notify.arn
  batch_size       = 10
  tags             = var.tags

  depends_on = [aws_iam_role_policy.function]
}

resource "aws_scheduler_schedule" "maintenance" {
  name                = "${var.name_prefix}-maintenance"
  description         = "Takes what is done in the background a step a minute."
  schedule_expression = "rate(1 minutes)"
  kms_key_arn         = var.kms_key_arn

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_lambda_function.function["maintenance"].arn
    role_arn = aws_iam_role.schedule.arn
    input    = jsonencode({})

    retry_policy {
      maximum_retry_attempts = 0 # the next minute is soon enough
    }
  }
}
