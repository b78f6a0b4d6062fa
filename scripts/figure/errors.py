"""Defines the errors that end the command with a message and an exit code."""


class UsageError(Exception):
    """The command line or a figure file is wrong: exit code 2."""


class EnvironmentTrouble(Exception):
    """This machine lacks something, or a file cannot be written: exit code 3."""
