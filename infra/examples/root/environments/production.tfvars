region               = "eu-west-1"
name_prefix          = "race"
own_key              = true
api_keys             = { web = 365 }
waf_rate_limit       = 2000
reserved_concurrency = { stream = 20, notify = 10 }
budget               = { usd_a_month = 500, emails = ["ops@example.com"] }
