variable "api_keys" {
  description = "API keys by a name of your own, each with the days that it lives: at most 365, which is AppSync's limit. An alarm goes off 30 days before the end."
  type        = map(number)
  default     = { public = 365 }

  validation {
    condition     = alltrue([for days in values(var.api_keys) : days == floor(days) && days >= 2 && days <= 365])
    error_message = "api_keys: whole days, from 2 to 365."
  }
  validation {
    condition     = alltrue([for name in keys(var.api_keys) : can(regex("^[A-Za-z0-9_-]{1,50}$", name))])
    error_message = "api_keys: names of up to 50 letters, digits, hyphens and underscores."
  }
}

variable "sign_in" {
  description = "Who reads, and submits for themselves where a board lets clients: users of a Cognito user pool or of an OpenID Connect issuer, signed in to one of these clients. Null is nobody."
  type = object({
    cognito_user_pool_id = optional(string)
    oidc_issuer          = optional(string)
    client_ids           = list(string)
  })
  default = null

  validation {
    condition     = var.sign_in == null ? true : (var.sign_in.cognito_user_pool_id == null) != (var.sign_in.oidc_issuer == null)
    error_message = "sign_in: either cognito_user_pool_id or oidc_issuer."
  }
  validation {
    condition     = var.sign_in == null ? true : length(var.sign_in.client_ids) > 0 && alltrue([for id in var.sign_in.client_ids : trimspace(id) != ""])
    error_message = "sign_in.client_ids: at least one, none blank; a token of any other client is refused."
  }
}

variable "introspection" {
  description = "Whether clients may ask the API for its schema."
  type        = bool
  default     = true
}

variable "query_depth_limit" {
  description = "The most fields that a query may go deep. Introspection, as GraphiQL and code generators request it, needs 15."
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

variable "http" {
  description = "The plain HTTP endpoint; null is none. `authorization` says who may call it: AWS_IAM (signed requests, which may do everything; a Cognito identity only reads), JWT (whoever signed in by `sign_in`), NONE (anyone, who may only read). Beyond requests_per_second and burst, API Gateway answers 429. `domain` needs a certificate of this region."
  type = object({
    authorization       = string
    requests_per_second = optional(number, 100)
    burst               = optional(number, 200)
    domain = optional(object({
      name            = string
      certificate_arn = string
    }))
  })
  default = null

  validation {
    condition     = var.http == null ? true : contains(["AWS_IAM", "JWT", "NONE"], var.http.authorization)
    error_message = "http.authorization: AWS_IAM, JWT or NONE."
  }
  validation {
    condition     = try(var.http.authorization, null) != "JWT" || var.sign_in != null
    error_message = "http.authorization: JWT needs sign_in."
  }
  validation {
    condition     = var.http == null ? true : var.http.requests_per_second >= 1 && var.http.burst >= 1
    error_message = "http: requests_per_second and burst, at least 1 each."
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

variable "domain" {
  description = "An own domain of AppSync's endpoint, which needs a certificate of us-east-1; null is none. Point its DNS alias to the output domain_target."
  type = object({
    name            = string
    certificate_arn = string
  })
  default = null

  validation {
    condition     = var.domain == null ? true : can(regex(":acm:us-east-1:", var.domain.certificate_arn))
    error_message = "domain.certificate_arn: a certificate in us-east-1."
  }
}

variable "private_network" {
  description = "Makes AppSync's endpoint reachable from VPCs alone (visibility PRIVATE). The notify function then runs in these subnets, which need endpoints for appsync-api, sqs and dynamodb. Null is reachable from everywhere; a plain HTTP endpoint (`http`) always is. A change replaces the API."
  type = object({
    subnet_ids         = list(string)
    security_group_ids = list(string)
  })
  default = null

  validation {
    condition     = var.private_network == null ? true : length(var.private_network.subnet_ids) > 0 && length(var.private_network.security_group_ids) > 0
    error_message = "private_network: at least one subnet and one security group."
  }
}
