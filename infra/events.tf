# What no request starts: changes of scores, rank changes that are due, and the clock.
resource "aws_sqs_queue" "failed" {
  name                      = "${var.name_prefix}-failed"
  message_retention_seconds = 1209600 # 14 days
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = local.tags
}

resource "aws_lambda_event_source_mapping" "scores" {
  function_name     = aws_lambda_alias.live["stream"].arn
  event_source_arn  = aws_dynamodb_table.scores.stream_arn
  starting_position = "TRIM_HORIZON"
  tags              = local.tags

  batch_size                         = var.stream.batch_size
  maximum_batching_window_in_seconds = var.stream.batch_window

  # Counters keep a guard for each stream shard. So a shard has one batch in flight at a time, and the event must name
  # the shard, which only events of a tumbling window do. The window is otherwise not used.
  parallelization_factor     = 1
  tumbling_window_in_seconds = 900

  # The function sets malformed records aside, so what fails a batch is transient and worth many retries. Halving
  # narrows a lasting failure down to its record. A record goes to the queue before the stream drops it, at 24 hours.
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

# Changes of hot boards, in a group for each bookkeeper of some standings: what is in a group is counted in order, by one
# invocation at a time. A group that fails is tried again for a day, as long as the stream keeps records, and an alarm goes
# off. No longer: guards and ledgers forget stream shards after 26 hours.
resource "aws_sqs_queue" "bookkeeper" {
  name                       = "${var.name_prefix}-bookkeeper.fifo"
  fifo_queue                 = true
  deduplication_scope        = "messageGroup"
  fifo_throughput_limit      = "perMessageGroupId"
  visibility_timeout_seconds = 60 # twice the function's timeout
  message_retention_seconds  = 86400
  kms_master_key_id          = var.kms_key_arn
  sqs_managed_sse_enabled    = var.kms_key_arn == null ? true : null
  tags                       = local.tags
}

resource "aws_lambda_event_source_mapping" "bookkeeper" {
  function_name           = aws_lambda_alias.live["bookkeeper"].arn
  event_source_arn        = aws_sqs_queue.bookkeeper.arn
  batch_size              = 10
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = local.tags

  scaling_config {
    maximum_concurrency = var.bookkeeper_max_concurrency
  }

  depends_on = [aws_iam_role_policy.function]
}

# Standings whose rank changes are due. A message asks for a pass; a pass that fails asks for the next one itself.
resource "aws_sqs_queue" "notify" {
  name                       = "${var.name_prefix}-notify"
  visibility_timeout_seconds = 120   # twice the function's timeout
  message_retention_seconds  = 86400 # a day: messages outlast an outage
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.notify_dead_letters.arn
    maxReceiveCount     = 20 # 40 minutes of failing
  })
  kms_master_key_id       = var.kms_key_arn
  sqs_managed_sse_enabled = var.kms_key_arn == null ? true : null
  tags                    = local.tags
}

# Messages that fail again and again: a pass catches its own failures, so these crash the function or time out.
resource "aws_sqs_queue" "notify_dead_letters" {
  name                      = "${var.name_prefix}-notify-dead-letters"
  message_retention_seconds = 1209600 # 14 days
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = local.tags
}

resource "aws_sqs_queue_redrive_allow_policy" "notify_dead_letters" {
  queue_url = aws_sqs_queue.notify_dead_letters.url
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.notify.arn]
  })
}

resource "aws_lambda_event_source_mapping" "notify" {
  function_name    = aws_lambda_alias.live["notify"].arn
  event_source_arn = aws_sqs_queue.notify.arn
  batch_size       = 10
  tags             = local.tags

  # Without it Lambda takes messages faster than the function may run, and sends those it could not start back: they
  # would end among the dead letters. (The stream needs none: it has one invocation for each of its shards.)
  scaling_config {
    maximum_concurrency = var.notify_max_concurrency
  }

  depends_on = [aws_iam_role_policy.function]
}

resource "aws_scheduler_schedule" "maintenance" {
  name                = "${var.name_prefix}-maintenance"
  description         = "Starts maintenance each minute."
  schedule_expression = "rate(1 minutes)"
  kms_key_arn         = var.kms_key_arn

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_lambda_alias.live["maintenance"].arn
    role_arn = aws_iam_role.schedule.arn
    input    = jsonencode({})

    retry_policy {
      maximum_retry_attempts = 0 # the next minute retries
    }
  }
}
