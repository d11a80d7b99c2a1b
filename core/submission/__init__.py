"""What writes entries: submissions, and changes of an entry."""
