"""Who is told of which change of rank bucket."""
