"""Who is told of which change of rank bucket, and of the top."""
