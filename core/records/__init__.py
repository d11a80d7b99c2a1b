"""The records table: jobs, audit records, moderation flags."""
