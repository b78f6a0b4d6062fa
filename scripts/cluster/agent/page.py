"""Asks a node by HTTP (/node.json and /readyz) where the cluster file gives it an address (`http`)."""

import json
import pathlib
from typing import Any, Optional

PATIENCE_S = 0.5


def ask(http: str, token_file: str) -> "Optional[dict[str, Any]]":
    """Returns the node's own document; None if it does not answer."""
    import urllib.request  # it is loaded late, since that takes longer than all else of a call

    try:
        headers = {"Authorization": f"Bearer {pathlib.Path(token_file).read_text().strip()}"} if token_file else {}
        with _open(urllib.request.Request(_address(http, "/node.json"), headers=headers)) as answer:
            document = json.load(answer)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def ready(http: str) -> Optional[bool]:
    """Returns whether the node serves and may commit; None if it does not answer."""
    import urllib.error
    import urllib.request

    try:
        with _open(urllib.request.Request(_address(http, "/readyz"))):
            return True
    except urllib.error.HTTPError:
        return False
    except (OSError, ValueError):
        return None


def _address(http: str, path: str) -> str:
    """Returns the page's address. A node that listens on all addresses is asked on this host's own."""
    host, _, port = http.rpartition(":")
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0', '[::]') else host}:{port}{path}"


def _open(request: Any) -> Any:
    import urllib.request

    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S)


def in_short(document: "dict[str, Any]") -> str:
    """Returns the node's stage and how much it does, such as "serving, 120,000 commits/s"."""
    stage = str(document.get("stage", "answers"))
    if document.get("why_not_ready"):
        return f"{stage}: {document['why_not_ready']}"
    rate = document.get("transactions", {}).get("commits_per_second")
    return stage if rate is None else f"{stage}, {rate:,.0f} commits/s"
