# Costs by the tag `leaderboard`, which must be activated as a cost allocation tag in the billing account.
resource "aws_budgets_budget" "stack" {
  count = var.budget == null ? 0 : 1

  name         = var.name_prefix
  budget_type  = "COST"
  limit_amount = tostring(var.budget.usd_a_month)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"
  tags         = local.tags

  cost_filter {
    name   = "TagKeyValue"
    values = [format("user:leaderboard$%s", var.name_prefix)]
  }

  dynamic "notification" {
    for_each = { ACTUAL = 80, FORECASTED = 100 }
    content {
      notification_type          = notification.key
      threshold                  = notification.value
      threshold_type             = "PERCENTAGE"
      comparison_operator        = "GREATER_THAN"
      subscriber_email_addresses = var.budget.emails
    }
  }
}
