"""Names of code in documents that say which function does what: does the code still have them?

A name is what stands `in backticks` and could be a function, a type or a constant: words that `::` joins, with or without `()`.
Comments and strings of the code do not count, but a string that is such a word as a whole does: protocols have their names there.
"""

import re

from references import FENCE

DOCUMENTS = {"docs/protocols.md"}
FOLDERS = ("include", "src", "cluster_config", "htm", "rdma", "kvstore", "recovery", "bench")
QUOTED = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"([A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*)(?:\(\))?")
FILE = re.compile(r"[\w./-]+\.(?:h|cc)")
WORD = re.compile(r"[A-Za-z_]\w*")
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)


def code_of(text):
    """Without comments and without strings of several words."""
    return NO_CODE.sub(lambda found: found.group() if re.fullmatch(r'"\w+"', found.group()) else " ", text)


def words_of(root):
    """{path: set of words} of the C++ sources."""
    return {
        path.relative_to(root).as_posix(): set(WORD.findall(code_of(path.read_text(encoding="utf-8"))))
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".h", ".cc") and path.is_file()
    }


def cells_of(text):
    """The parts of a document whose names and files belong together: the last cell of a table's row, and all else by itself."""
    for line in FENCE.sub("", text).splitlines():
        if line.startswith("|") and line.rstrip().endswith("|"):
            *others, last = line.strip().strip("|").split(" | ")
            yield from others
            yield last
        else:
            yield line


def has(words, name):
    parts = [part.lstrip("~") for part in name.split("::")]
    return any(all(part in those for part in parts) for those in words.values())


def stems(files):
    return {file.rpartition(".")[0] for file in files}


def lost_names(words, text):
    """(name, where it was looked for) of each name that the code has not. Beside files, in one cell of a table, a name's last part
    has to stand in one of them, or in the header of the same name."""
    for cell in cells_of(text):
        quoted = QUOTED.findall(cell)
        files = [file for file in quoted if FILE.fullmatch(file) and file in words]
        for name in (match.group(1) for match in map(NAME.fullmatch, quoted) if match):
            if not has(words, name):
                yield name, "the code"
            elif files and cell.lstrip().startswith("`"):
                near = {path: those for path, those in words.items() if path.rpartition(".")[0] in stems(files)}
                if not has(near, name.rpartition("::")[2]):
                    yield name, " or ".join(files)


def lost_files(files, text):
    """Files that are named by their last part alone, which is no path from the root. `files` are the paths of all there are."""
    known = {path.rpartition("/")[2] for path in files}
    for file in QUOTED.findall(FENCE.sub("", text)):
        if FILE.fullmatch(file) and "/" not in file and file not in known:
            yield file
