"""What a command says when it cannot go on."""


class StackError(Exception):
    """A failure that the user can mend; its message says how. Exit code 2."""
