"""What is derived of entries: the counter tree, the ladder and the top, and what keeps them."""
