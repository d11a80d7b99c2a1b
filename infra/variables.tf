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

variable "architecture" {
  description = "The functions' processor."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture: arm64 or x86_64."
  }
}

variable "memory_size" {
  description = "MB of memory by function (api, http, stream, notify, maintenance); CPU comes with it. Those left out get 1024."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([
      for name, size in var.memory_size :
      contains(["api", "http", "stream", "notify", "maintenance"], name) && size >= 256 && size <= 10240
    ])
    error_message = "memory_size: for api, http, stream, notify or maintenance, from 256 to 10240."
  }
}

variable "reserved_concurrency" {
  description = "Invocations at once that a function (api, http, stream, notify, maintenance) keeps for itself and may not exceed. Those left out share the account's."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([
      for name, most in var.reserved_concurrency :
      contains(["api", "http", "stream", "notify", "maintenance"], name) && most >= 0
    ])
    error_message = "reserved_concurrency: for api, http, stream, notify or maintenance, at least 0."
  }
}

variable "log_retention_days" {
  description = "How long logs are kept."
  type        = number
  default     = 30

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days: one of CloudWatch's, such as 7, 14, 30, 90, 365."
  }
}

variable "api_log_level" {
  description = "What AppSync logs of each request: NONE, ERROR, INFO, DEBUG or ALL. More than ERROR costs more than the requests."
  type        = string
  default     = "ERROR"

  validation {
    condition     = contains(["NONE", "ERROR", "INFO", "DEBUG", "ALL"], var.api_log_level)
    error_message = "api_log_level: NONE, ERROR, INFO, DEBUG or ALL."
  }
}

variable "tracing" {
  description = "Whether X-Ray traces the API and the functions."
  type        = bool
  default     = false
}

variable "api_keys" {
  description = "API keys by a name of your own, each with the whole hour at which it expires (RFC 3339, at most 365 days ahead), or null for 7 days from its creation."
  type        = map(string)
  default     = { public = null }

  validation {
    condition = alltrue([
      for expires in values(var.api_keys) :
      expires == null || can(regex("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00:00Z$", expires))
    ])
    error_message = "api_keys: each null or a whole hour such as 2027-01-31T00:00:00Z; AppSync rounds others down, and every plan would differ."
  }
}

variable "sign_in" {
  description = "Who else may read, and submit for themselves where a board lets clients: users of a Cognito user pool, or of an OpenID Connect issuer. Null is nobody."
  type = object({
    cognito_user_pool_id = optional(string)
    oidc_issuer          = optional(string)
  })
  default = null

  validation {
    condition     = var.sign_in == null ? true : (var.sign_in.cognito_user_pool_id == null) != (var.sign_in.oidc_issuer == null)
    error_message = "sign_in: either cognito_user_pool_id or oidc_issuer."
  }
}

variable "introspection" {
  description = "Whether clients may ask the API for its schema."
  type        = bool
  default     = true
}

variable "query_depth_limit" {
  description = "The most fields that a query may go deep. Introspection, as GraphiQL and code generators ask for it, needs 15."
  type        = number
  default     = 20 # as MAX_DEPTH in resolvers/query_limits.py

  validation {
    condition     = var.query_depth_limit >= 7 && var.query_depth_limit <= 75
    error_message = "query_depth_limit: from 7, which a page of boards with ranked entries needs, to 75."
  }
}

variable "resolver_count_limit" {
  description = "The most resolvers that one request may run; each ranked entry of a page is one."
  type        = number
  default     = 2500

  validation {
    condition     = var.resolver_count_limit >= 1 && var.resolver_count_limit <= 10000
    error_message = "resolver_count_limit: from 1 to 10000."
  }
}

variable "waf_rate_limit" {
  description = "The most requests that one address may make in 5 minutes; more are blocked by WAF. Null is no WAF."
  type        = number
  default     = null

  validation {
    condition     = var.waf_rate_limit == null ? true : var.waf_rate_limit >= 10 && var.waf_rate_limit <= 2000000000
    error_message = "waf_rate_limit: from 10 to 2000000000."
  }
}

variable "http_authorization" {
  description = "Who may call the plain HTTP endpoint: AWS_IAM (signed requests, which may do everything), NONE (anyone, who may read), or DISABLED for no endpoint."
  type        = string
  default     = "DISABLED"

  validation {
    condition     = contains(["AWS_IAM", "NONE", "DISABLED"], var.http_authorization)
    error_message = "http_authorization: AWS_IAM, NONE or DISABLED."
  }
}

variable "stream" {
  description = "How the scores' changes are handed to the counters: records a batch, seconds to wait for a batch to fill, and how often a failing batch is tried."
  type = object({
    batch_size     = optional(number, 1000)
    batch_window   = optional(number, 0)
    retry_attempts = optional(number, 100)
  })
  default = {}

  validation {
    condition     = var.stream.batch_size >= 1 && var.stream.batch_size <= 10000 && var.stream.batch_window >= 0 && var.stream.batch_window <= 300 && var.stream.retry_attempts >= 1 && var.stream.retry_attempts <= 10000
    error_message = "stream: batch_size from 1 to 10000, batch_window from 0 to 300 seconds, retry_attempts from 1 to 10000."
  }
}

variable "alarm_actions" {
  description = "ARNs that alarms tell, such as an SNS topic's."
  type        = list(string)
  default     = []
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
