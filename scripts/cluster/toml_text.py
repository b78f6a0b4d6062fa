"""Writes the plain TOML that a cluster file is made of; the standard library only reads it."""

import json
from typing import Any


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(value_text(each) for each in value) + "]"
    raise ValueError(f"{value}; expected text, a number, true, false, or a list of these")


def text_of(tables: "dict[str, Any]", heading: str) -> str:
    """Returns the TOML of tables of values, or of lists of such tables, as tomllib.loads() returns them. A ValueError
    names a value that has no place in a cluster file.
    """
    lines = [f"# {line}" for line in heading.splitlines()]
    for name, content in tables.items():
        several = content if isinstance(content, list) else [content]
        bracket = "[[{}]]" if isinstance(content, list) else "[{}]"
        for table in several:
            lines += ["", bracket.format(name)]
            for key, value in table.items():
                try:
                    lines.append(f"{key} = {value_text(value)}")
                except ValueError as error:
                    raise ValueError(f"{bracket.format(name)} {key} is {error}") from error
    return "\n".join(lines) + "\n"
