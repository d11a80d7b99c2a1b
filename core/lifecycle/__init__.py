"""A board's life besides scores: archives, moderation, erasure, deletion, and the record of it."""
