"""Does what is asked for with the services of an install directory: nodes, and ZooKeeper servers to try. Supervisors of
our own run them, or systemd.
"""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional, Sequence

from . import handed_out, own, page, systemd, zookeeper
from .channel import mention, tell
from .place import Place
from .trouble import Trouble

LOG_BYTES, LOG_FILES = 16 << 20, 4
STOP_S, TRIES = 30, 20
LONGEST_PAUSE_S = 0.25  # the longest time between two looks whether services serve
BOARD_S = 3.0  # `granary cluster check` waits a second for all hosts that do not answer
FINAL_CODES = [2, 4, 5]  # another try helps neither wrong usage, damaged data nor a disk fault


def names(place: Place) -> "list[str]":
    """Returns the names of all services: ZooKeeper's first, since nodes need it."""
    deployed = place.deployed()
    servers = [each["name"] for each in deployed.get("zookeepers", [])]
    return servers + [f"node-{node}" for node in deployed.get("nodes", [])]


def backend(place: Place, name: str) -> Any:
    """Returns the module that looks after the service."""
    by_systemd = place.deployed().get("supervisor") == systemd.NAME and name.startswith("node-")
    return systemd if by_systemd else own


def all_of(place: Place) -> "dict[str, dict[str, Any]]":
    return {name: backend(place, name).status(place, name) for name in names(place)}


def goes_on(found: "dict[str, Any]") -> bool:
    """Tells by its status whether a service runs, or its supervisor is about to start it again."""
    return bool(found["pid"]) or found["state"] == "pausing"


def chosen(place: Place, wanted: "Optional[list[str]]") -> "list[str]":
    """Returns the services that a call is about: those that it names, or all."""
    known = names(place)
    for name in wanted or []:
        if name not in known:
            raise Trouble(f"{name} is not installed in '{place.directory}'; run 'deploy' again")
    return known if wanted is None else wanted


def job(place: Place, name: str) -> "dict[str, Any]":
    """Returns what a supervisor needs to know of a service."""
    common = {"name": name, "directory": str(place.directory), "stop_s": STOP_S, "tries": TRIES, "log_bytes": LOG_BYTES,
              "log_files": LOG_FILES, "serves": "", "serves_not": "", "final_codes": []}
    for server in place.deployed().get("zookeepers", []):
        if server["name"] == name:
            return common | {"command": server["command"]}
    node = name.removeprefix("node-")
    command = [*node_words(place), f"--cluster={place.file}", f"--id={node}"]
    return common | {"command": command, "serves": rf"^node {node} of \d+ serves$",
                     "serves_not": "starts again with its data",
                     "final_codes": FINAL_CODES}


def node_words(place: Place) -> "list[str]":
    """Returns the words that run a node: `granary node`, or an application's own program, which the package has, too.
    """
    own_program = place.deployed().get("program")
    return [str(place.current / "bin" / own_program)] if own_program else [str(place.program()), "node"]


def start(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Starts services. It says of each what happened, and does not wait until they serve."""
    deployed = place.require()
    if arguments.get("file_sha256") not in (None, deployed["file_sha256"]):
        raise Trouble("the cluster file has changed since it was deployed; run 'deploy' first")
    if deployed.get("run_directory"):  # below /run, a directory is gone once the host was started again
        place.make_directory(deployed["run_directory"])

    def one(name: str) -> "dict[str, Any]":
        return {"what": backend(place, name).start(place, name, job(place, name)), "ok": True}

    return _each(place, arguments, one)


def stop(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Ends services in order, all at the same time, since nodes may wait for each other. Says of each whether it has
    `ended`, and with "ok" that this was in order.
    """
    place.require()

    def one(name: str) -> "dict[str, Any]":
        what, in_order = backend(place, name).stop(place, name)
        return {"what": what, "ok": in_order, "ended": True}

    return _each(place, arguments, one)


def restart(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Ends services, starts them again, and waits until they serve: in one call, since their keys are away meanwhile.
    One that did not end in order is started all the same, since the others wait for it.
    """
    stopped = stop(place, arguments)
    if not all(each["ended"] for each in stopped.values()):
        return {"stopped": stopped, "started": {}, "states": {}}
    for name, each in stopped.items():
        mention(f"{name}: {each['what']}; begins again")
    started = start(place, arguments)
    return {"stopped": stopped, "started": started, "states": await_serving(place, arguments)}


def _each(place: Place, arguments: "dict[str, Any]", action: Any) -> "dict[str, Any]":
    wanted = chosen(place, arguments.get("services"))
    def one(name: str) -> "dict[str, Any]":
        began = time.monotonic()
        try:
            told = action(name)
        except (Trouble, OSError) as error:
            told = {"what": str(error), "ok": False, "ended": False}
        return told | {"seconds": time.monotonic() - began}

    with ThreadPoolExecutor(max(1, len(wanted))) as pool:
        return dict(zip(wanted, pool.map(one, wanted)))


def await_serving(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Waits until services serve, or have ended for good, or the time is over. Returns the status of each. A
    BrokenPipeError ends it once nobody waits for the answer any more.
    """
    place.require()
    wanted = chosen(place, arguments.get("services"))
    until, pause_s = time.monotonic() + arguments["seconds"], 0.05
    while True:
        found = {name: backend(place, name).status(place, name) for name in wanted}
        for name, each in found.items():
            if name.startswith("zookeeper-"):
                each["serves"] = zookeeper.serves(place, name)
        _find_out(place, found)
        settled = (each["serves"] or each["state"] in ("failed", "ended", "dead") for each in found.values())
        if all(settled) or time.monotonic() > until:
            return found
        tell({"alive": True})
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.2, LONGEST_PAUSE_S)


def _find_out(place: Place, found: "dict[str, dict[str, Any]]", told: "Optional[dict[str, Any]]" = None) -> None:
    """Asks nodes of which their supervisor does not know whether they serve: by HTTP where they have an address. Of
    others it is asked whether they are members, which a node is shortly before it serves. `told` is what board() has
    told, if it was asked already.
    """
    http = place.deployed().get("http", {})
    for name, each in found.items():
        if each["serves"] is None and name in http:
            each["serves"] = page.ready(http[name])
        if each["serves"] is None:
            told = told or board(place, BOARD_S)
            each["serves"] = int(name.removeprefix("node-")) in told["members"]
            each["says"] = "is a member" if each["serves"] else "is no member" if not told["unknown"] else "unknown"
            each["says"] += "; the journal has forgotten whether it serves"


def end_former(place: Place, nodes: "list[int]") -> "list[str]":
    """Ends services of nodes that the cluster file no longer has, since no command names them from now on. Returns the
    names of those that it has ended.
    """
    ended = []
    for each in sorted(place.services.glob("node-*")):
        found = own.status(place, each.name)
        if each.name not in [f"node-{node}" for node in nodes] and (found["pid"] or found["supervisor"] == "runs"):
            own.stop(place, each.name)
            ended.append(each.name)
    if place.deployed().get("supervisor") == systemd.NAME:
        ended += systemd.end_former(place, nodes)
    return ended


def kill(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    place.require()
    (name,) = chosen(place, arguments["services"])
    return {"what": backend(place, name).kill(place, name)}


def status(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Returns what each service's supervisor knows and the service says itself, and what the cluster's board says."""
    deployed = place.require()
    found = all_of(place)
    told = board(place, arguments.get("patience_s", BOARD_S))
    _find_out(place, found, told)
    for name, each in found.items():
        if name.startswith("node-"):
            each.setdefault("says", node_says(arguments.get("http", {}).get(name), each))
        else:
            each["serves"] = zookeeper.serves(place, name)
            each["says"] = zookeeper.mode(place, name) if each["pid"] else ""
    return {"services": found, "deployed": handed_out.without(deployed), "board": told}


def node_says(http: "Optional[dict[str, str]]", found: "dict[str, Any]") -> str:
    """Returns in a few words what the node itself tells: on its page if it has one, else by what it has printed."""
    document = page.ask(http["address"], http["token_file"]) if http and found["pid"] else None
    if document is not None:
        return page.in_short(document)
    if found["serves"]:
        return "serves"
    return "not yet serving" if found["pid"] else ""


def board(place: Place, patience_s: float) -> "dict[str, Any]":
    """Returns what the membership says, as `granary cluster check` tells it: the ids of members, texts of what is owed,
    why that may not be all, and warnings. An answer that names nobody is marked as not all, too, so that nobody takes
    the cluster for whole. Single servers of ZooKeeper that are away only warn: it is bad if no majority is left.
    """
    nodes = place.deployed().get("nodes", [])
    if not nodes:
        return _board("no node here")
    command = [str(place.program()), "cluster", "check", str(place.file), f"--id={nodes[0]}", "--json"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience_s,
                              check=False, **place.run_as())
    except (subprocess.TimeoutExpired, OSError) as error:
        return _board(f"no answer: {type(error).__name__}")
    try:
        findings = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):  # the program may refuse the file
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        return _board(f"`granary cluster check` says only: {said}")
    members = [int(each["check"].split()[1]) for each in findings if each["check"].startswith("member ")]
    owed = [f"{each['check']}: {each['found']}" for each in findings if each["check"].startswith("dead node")]
    silent = [each["found"] for wanted, good in (("members", ["ok"]), ("ZooKeeper", ["ok", "warning"]))
              for each in findings if each["check"] == wanted and each["verdict"] not in good]
    warnings = [each["found"] for each in findings if (each["check"], each["verdict"]) == ("ZooKeeper", "warning")]
    if not silent and not members and not owed:
        silent = ["it names no member"]
    return _board(silent[0] if silent else "", members, owed, warnings)


def _board(unknown: str, members: "Sequence[int]" = (), owed: "Sequence[str]" = (),
           warnings: "Sequence[str]" = ()) -> "dict[str, Any]":
    return {"members": list(members), "owed": list(owed), "unknown": unknown, "warnings": list(warnings)}
