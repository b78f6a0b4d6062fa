"""Defines the errors that end a command with a message."""


class UsageError(Exception):
    """The command line or the cluster file is wrong."""

    code = 2


class HostError(Exception):
    """Something did not work on one host; the others go on. `code` is the exit code that fits it best."""

    def __init__(self, text: str, code: int = 3) -> None:
        super().__init__(text)
        self.code = code
