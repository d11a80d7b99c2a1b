"""The counter tree's arithmetic, and the changes that it counts. No I/O."""
