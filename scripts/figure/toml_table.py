"""Reads keys of one TOML table. Each refusal names the file, the table, the key, its value and what was expected."""

from typing import Any

from .errors import UsageError

REQUIRED = object()  # a key with this default must be there


class TomlTable:
    """Gives its keys one by one; finish() refuses what nobody has taken."""

    def __init__(self, where: str, values: Any) -> None:
        self.where = where
        if not isinstance(values, dict):
            raise UsageError(f"{where}: found {values!r}; expected a table")
        self.values = values
        self.taken: "set[str]" = set()

    def refuse(self, key: str, expected: str) -> UsageError:
        if key not in self.values:
            return UsageError(f"{self.where}: there is no key '{key}'; expected {expected}")
        return UsageError(f"{self.where}: {key} is {self.values[key]!r}; expected {expected}")

    def any(self, key: str, default: Any, expected: str) -> Any:
        self.taken.add(key)
        if key not in self.values and default is REQUIRED:
            raise self.refuse(key, expected)
        return self.values.get(key, default)

    def text(self, key: str, default: Any = REQUIRED) -> str:
        value = self.any(key, default, "text")
        if not isinstance(value, str) or (default is REQUIRED and not value.strip()):
            raise self.refuse(key, "text")
        return value

    def choice(self, key: str, choices: "tuple[str, ...]", default: Any = REQUIRED) -> str:
        expected = f"one of {', '.join(choices)}"
        value = self.any(key, default, expected)
        if value not in choices:
            raise self.refuse(key, expected)
        return value

    def number(self, key: str, default: Any = REQUIRED, least: float = float("-inf")) -> Any:
        expected = "a number" if least == float("-inf") else f"a number of at least {least:g}"
        value = self.any(key, default, expected)
        if value is None and default is None:
            return None
        if not is_number(value) or value < least:
            raise self.refuse(key, expected)
        return value

    def whole(self, key: str, default: Any = REQUIRED, least: int = 0) -> int:
        expected = f"a whole number of at least {least}"
        value = self.any(key, default, expected)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refuse(key, expected)
        return value

    def items(self, key: str, default: Any = REQUIRED) -> "list[Any]":
        value = self.any(key, default, "a list")
        if not isinstance(value, list) or (default is REQUIRED and not value):
            raise self.refuse(key, "a list that is not empty")
        return value

    def pair(self, key: str, default: Any = REQUIRED) -> Any:
        """Returns two numbers, the smaller one first."""
        expected = "two numbers, the smaller one first"
        value = self.any(key, default, expected)
        if value is None and default is None:
            return None
        if not (isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]):
            raise self.refuse(key, expected)
        return tuple(value)

    def table(self, key: str, default: Any = REQUIRED) -> "TomlTable":
        return TomlTable(f"{self.where}: {key}", self.any(key, default, "a table"))

    def tables(self, key: str, default: Any = REQUIRED) -> "list[TomlTable]":
        return [
            TomlTable(f"{self.where}: {key} {index + 1}", each) for index, each in enumerate(self.items(key, default))
        ]

    def finish(self) -> None:
        for key in self.values:
            if key not in self.taken:
                raise UsageError(f"{self.where}: unknown key '{key}'; expected one of {', '.join(sorted(self.taken))}")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
