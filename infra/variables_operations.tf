variable "alarm_actions" {
  description = "ARNs that alarms notify, such as an SNS topic's."
  type        = list(string)
  default     = []
}

variable "alarm_thresholds" {
  description = "Beyond what the APIs' alarms go off for 5 minutes on end: refused requests a minute, and milliseconds that one request in a hundred takes."
  type = object({
    client_errors = optional(number, 100)
    latency_ms    = optional(number, 2000)
  })
  default = {}

  validation {
    condition     = var.alarm_thresholds.client_errors >= 0 && var.alarm_thresholds.latency_ms > 0
    error_message = "alarm_thresholds: client_errors at least 0, latency_ms more than 0."
  }
}

variable "budget" {
  description = "Whom AWS mails when the stack's costs reach 80 % of a monthly budget, or are forecast to exceed it; null is nobody. The tag `leaderboard` must be a cost allocation tag of the account."
  type = object({
    usd_a_month = number
    emails      = list(string)
  })
  default = null

  validation {
    condition     = var.budget == null ? true : var.budget.usd_a_month > 0 && length(var.budget.emails) > 0
    error_message = "budget: usd_a_month more than 0, and at least one address."
  }
}
