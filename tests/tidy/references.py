"""Paths that documents and comments name, and links of documents: do they lead somewhere?"""

import pathlib
import re

FOLDERS = ("include", "src", "cluster_config", "htm", "rdma", "kvstore", "recovery", "bench", "tests", "examples", "scripts", "cmake", "docs")
PATH = re.compile(r"(?<![\w/.<*-])((?:%s)/[\w/.-]*\.(?:h|cc|py|sh|md|cmake|pml))\b(?![*/])" % "|".join(FOLDERS))
COMMENT = re.compile(r"//(.*)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchors_of(text):
    """As the repository's viewer makes them from headings."""
    headings = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def lost_in_comments(root, text):
    """(line, path) for each path that is named in a comment of a C++ file and is not there."""
    for number, line in enumerate(text.splitlines(), start=1):
        comment = COMMENT.search(line)
        for path in PATH.findall(comment.group(1)) if comment else ():
            if not (root / path).exists():
                yield number, path


def lost_in_document(root, document, text):
    """What a document names or links to and is not there. Code blocks are left out."""
    prose = FENCE.sub("", text)
    for path in PATH.findall(re.sub(r"\]\([^()\s]+\)", "]", prose)):
        if not (root / path).exists():
            yield path
    for link in LINK.findall(prose):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name) if name else document
        if not target.exists():
            yield link
        elif anchor and anchor not in anchors_of(pathlib.Path(target).read_text(encoding="utf-8")):
            yield link
