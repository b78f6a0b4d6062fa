"""Has a module for each group of commands. A verb takes a Session and returns an exit code, or None for the report's.
"""
