variable "name_prefix" {
  description = "Names the stack: every resource's name starts with it, so several stacks live in one account."
  type        = string
  default     = "leaderboard"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name_prefix))
    error_message = "name_prefix: 3 to 32 lower-case letters, digits and hyphens, a letter first and no hyphen last."
  }
}

variable "tags" {
  description = "Tags for every resource that takes them."
  type        = map(string)
  default     = {}
}

variable "package_dir" {
  description = "Where `make package` put the zips; build/package of the same checkout by default."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether DynamoDB refuses to delete the tables, also for Terraform."
  type        = bool
  default     = true
}

variable "point_in_time_recovery" {
  description = "Whether the tables can be restored to any second of the last 35 days."
  type        = bool
  default     = true
}

variable "kms_key_arn" {
  description = "A KMS key of yours for tables, logs and the failure queue; without one AWS's own keys encrypt them."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "provisioned_capacity" {
  description = "Read and write units a second, least and most, that scores (and its index), counters and boards scale between. Null is on demand."
  type = map(object({
    read_min  = number
    read_max  = number
    write_min = number
    write_max = number
  }))
  default = null

  validation {
    condition = var.provisioned_capacity == null ? true : (
      toset(keys(var.provisioned_capacity)) == toset(["scores", "counters", "boards"]) &&
      alltrue([for one in values(var.provisioned_capacity) : one.read_min >= 1 && one.write_min >= 1 && one.read_max >= one.read_min && one.write_max >= one.write_min])
    )
    error_message = "provisioned_capacity: for scores, counters and boards each, with every least at least 1 and no greater than its most."
  }
}

variable "retention" {
  description = "What new leaderboards get: hours after a period's end in which late scores still count there, days after its end that its entries stay, and days that submission ids are remembered. Leaderboards that exist keep theirs."
  type = object({
    grace_hours        = optional(number, 24)
    daily_days         = optional(number, 35)
    weekly_days        = optional(number, 365)
    monthly_days       = optional(number, 1095)
    submission_id_days = optional(number, 7)
  })
  default = {}

  validation {
    condition = (
      alltrue([for one in values(var.retention) : one == floor(one) && one >= 0 && one <= 36500]) &&
      min(var.retention.daily_days, var.retention.weekly_days, var.retention.monthly_days) * 24 > var.retention.grace_hours &&
      var.retention.submission_id_days >= 1
    )
    error_message = "retention: whole numbers up to 36500; entries stay for longer than the grace, and ids are remembered for at least a day."
  }
}
