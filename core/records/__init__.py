"""The records table: jobs, audit, moderation flags."""
