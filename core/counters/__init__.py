"""The counter tree in storage."""
