"""Puts a release package, the cluster file, secrets and directories into place, and does nothing that is done already.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import time
from typing import Any

from . import archives, channel, files, handed_out, lock, processes, services, systemd, zookeeper
from .place import Place
from .trouble import Trouble

KEPT_VERSIONS = 2  # old versions that are kept beside those in use
CHECK_S = 30
WAY_OUT = "stop the cluster first, or deploy with --while-running and then 'restart --rolling'"
PARTIAL = re.compile(r"\.(\d+)-(?:archive|folder|cluster\.toml)|"
                     r"\.(?:current|cluster\.toml|former\.json|deployed\.json|handed_out\.json)\.(\d+)")


def inspect(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Returns what is there, by which the caller decides whether it has to send the package."""
    name = arguments["package"]["directory"]
    texts = [place.file.read_text(), *place.former_texts()] if place.deployed() and place.file.exists() else []
    return {"has_package": (place.versions / name).is_dir(), "deployed": place.deployed(), "owner": place.owner(),
            "file_texts": texts, "identity": place.identity()}


def install(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Puts everything into place. The value of "done" in the result lists what was not so before."""
    package = arguments["package"]
    if not arguments["while_running"]:
        _refuse_what_runs(place, arguments)
    _refuse_other_secrets(place, arguments)
    _refuse_servers_that_go(place, arguments["zookeepers"])
    handed_out.refuse_others(place, arguments["secrets"])
    supervisor = _supervisor(place, arguments["supervisor"])
    if supervisor == systemd.NAME:
        systemd.refuse_others(place)
    done = ["install directory"] if place.claim() else []
    lock.take(place, holder=0)  # there was no lock before, if the directory was not ours
    if _unpack(place, package):
        done.append(f"package {package['name']}")
    _refuse_wrong_file(place, package, arguments["file_text"])
    done += _directories(place, arguments["directories"])
    _agent(place, arguments["modules"])
    program = _program(place, arguments)
    servers = [zookeeper.configure(place, each, arguments["ensemble"]) for each in arguments["zookeepers"]]
    secrets_done, known_secrets = handed_out.put(place, arguments["secrets"])
    done += secrets_done
    _keep_former(place, arguments["file_text"])
    if files.write(place.file, arguments["file_text"]):
        done.append("cluster file")
    if supervisor == systemd.NAME and systemd.install(place, arguments["nodes"], program,
                                                       arguments["run_directory"]):
        done.append(f"unit {systemd.UNIT}")
    if supervisor != systemd.NAME and place.deployed().get("supervisor") == systemd.NAME:
        systemd.end_former(place, [])
        done += [f"unit {systemd.UNIT} removed"] if systemd.remove(place, place.deployed()["nodes"]) else []
    if _point(place, package["directory"]):
        done.append(f"current version {package['directory']}")
    former = services.end_former(place, arguments["nodes"])
    done += [f"{name}, which the cluster file no longer has: ended" for name in former]
    _prune(place, package["directory"])
    remove_partial(place)
    deployed = {"cluster": place.cluster, "package": package, "supervisor": supervisor, "nodes": arguments["nodes"],
                "zookeepers": servers, "run_directory": arguments["run_directory"],
                "program": program, "http": arguments["http"],
                "file_sha256": hashlib.sha256(arguments["file_text"].encode()).hexdigest(),
                handed_out.KEY: known_secrets}
    before = place.deployed()
    if before.get("zookeepers", []) != servers:
        done.append("ZooKeeper's configuration")
    if {key: value for key, value in before.items() if key != "at"} != deployed:
        files.write_json(place.deployed_file, deployed | {"at": time.time()})
    place.handed_out_file.unlink(missing_ok=True)  # deployed.json has the secrets now
    return {"done": done, "supervisor": supervisor, "keeps_former": place.former_file.exists()}


def _keep_former(place: Place, text: str) -> None:
    """Keeps the text that `text` is about to replace. Nodes may run by it on hosts that the new file does not have.
    Only the caller ends these nodes, once all hosts have taken the new file. If it does not come to that, a later
    deploy has to know of them.
    """
    kept = place.former_texts()
    before = place.file.read_text() if place.file.exists() else text
    if before != text and before not in kept:
        files.write_json(place.former_file, [*kept, before])


def forget_former(place: Place, _arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Forgets the texts that _keep_former() has kept."""
    place.require()
    place.former_file.unlink(missing_ok=True)
    return {}


def _program(place: Place, arguments: "dict[str, Any]") -> str:
    """Returns the application's own node, which stays that of the last deploy where this one does not say (None)."""
    program, kept = arguments["program"], ""
    if program is None:
        program = place.deployed().get("program", "")
        kept = ", which an earlier deploy was told to run; name another one, or say --no-program"
    if program and not os.access(place.versions / arguments["package"]["directory"] / "bin" / program, os.X_OK):
        raise Trouble(f"--program={program}: the package has no bin/{program}{kept}", 2)
    return program


def _refuse_servers_that_go(place: Place, wanted: "list[dict[str, Any]]") -> None:
    """Refuses to drop a server of ZooKeeper that runs: once it is not deployed any more, no command could stop it."""
    names = {each["name"] for each in wanted}
    for name, found in services.all_of(place).items():
        if name.startswith("zookeeper-") and name not in names and found["pid"]:
            raise Trouble(f"{name} runs, process {found['pid']}, and would not be this cluster's any more: "
                          "'stop --with-zookeeper' first")


def _refuse_what_runs(place: Place, arguments: "dict[str, Any]") -> None:
    """Refuses nodes that run with another version or by another cluster file, which would start again with what is new.
    """
    same_file = not place.file.exists() or place.file.read_text() == arguments["file_text"]
    for name, found in services.all_of(place).items():
        if not name.startswith("node-") or not found["pid"]:
            continue
        if found["version"] != arguments["package"]["directory"]:
            raise Trouble(f"{name} runs, process {found['pid']}, with version '{found['version']}': {WAY_OUT}")
        if not same_file:
            raise Trouble(f"{name} runs, process {found['pid']}, by the cluster file of the last deploy: {WAY_OUT}")


def _refuse_other_secrets(place: Place, arguments: "dict[str, Any]") -> None:
    """Refuses secrets that differ from those by which nodes run here. Nodes with two cluster keys do not find together,
    so that a node that starts again with another key would stay away.
    """
    running = [name for name, found in services.all_of(place).items()
               if name.startswith("node-") and services.goes_on(found)]
    for secret in arguments["secrets"] if running else []:
        path = pathlib.Path(secret["path"])
        if not path.is_file() or path.read_bytes() == secret["text"].encode():
            continue
        changes = f"the {secret['what']} '{path}' would be another one, but {running[0]} runs by it"
        if secret["what"] == handed_out.CLUSTER_KEY:
            raise Trouble(f"{changes}, and nodes with different keys do not find together: stop all nodes first")
        if not arguments["while_running"]:
            raise Trouble(f"{changes}: {WAY_OUT}")


def _unpack(place: Place, package: "dict[str, Any]") -> bool:
    """Unpacks the version if it is missing, and returns whether it was. It appears whole or not at all."""
    version = place.versions / package["directory"]
    if version.is_dir():
        return False
    files.make_directory(place.versions, 0o755)
    archive, folder = (place.versions / f".{os.getpid()}-{word}" for word in ("archive", "folder"))
    try:
        _receive(archive, package)
        folder.mkdir()
        archives.extract(archive, folder, f"{package['name']}.tar.gz", archives.BUILD_AGAIN)
        top = folder / package["name"]
        _check_version(place, top, package)
        top.rename(version)
        files.give_to_owner(version)
    finally:
        archive.unlink(missing_ok=True)
        files.remove_tree(folder)
    return True


def _receive(archive: pathlib.Path, package: "dict[str, Any]") -> None:
    digest = hashlib.sha256()
    left = package["bytes"]
    try:
        with open(archive, "xb") as file:
            while left and (chunk := channel.payload().read(min(left, 1 << 20))):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
    except OSError as error:
        raise Trouble(f"the package cannot be written to '{archive.parent}': {error}") from error
    if digest.hexdigest() != package["sha256"]:
        raise Trouble(f"the package arrived with another hash, {digest.hexdigest()[:12]}..., than it was sent with; "
                      "try again")


def _check_version(place: Place, top: pathlib.Path, package: "dict[str, Any]") -> None:
    """Refuses a package whose program does not run here, or is not of the version that the package's name says."""
    program = top / "bin" / "granary"
    if not program.exists():
        raise Trouble(f"'{package['name']}.tar.gz' has no '{package['name']}/bin/granary': {archives.BUILD_AGAIN}", 2)
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False, **place.run_as())
    except OSError as error:
        raise Trouble(f"the package's program does not run here: {error}") from error
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise Trouble(f"the package's program does not run here: {said or f'exit code {done.returncode}'}")
    if said.split()[1:2] != [package["version"]]:
        raise Trouble(f"the package is named '{package['name']}', but its program says '{said}'", 2)


def _refuse_wrong_file(place: Place, package: "dict[str, Any]", text: str) -> None:
    """Refuses a cluster file that nodes would refuse. Nodes that run would find out about a mistake only when they are
    started again. What `cluster check` says of the machine does not count here: much of what it looks at is yet to be
    made.
    """
    current = place.current.is_symlink() and os.readlink(place.current) == f"versions/{package['directory']}"
    if current and place.file.exists() and place.file.read_text() == text:
        return
    file = place.versions / f".{os.getpid()}-cluster.toml"
    try:
        file.unlink(missing_ok=True)
        with open(file, "x", encoding="utf-8") as copy:  # write_text() would follow a link of the directory's owner
            copy.write(text)
        done = subprocess.run([place.versions / package["directory"] / "bin" / "granary", "cluster", "check", file],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=CHECK_S, check=False, **place.run_as())
    except subprocess.TimeoutExpired:  # the check has read the file, and looks at the machine
        return
    finally:
        file.unlink(missing_ok=True)
    if done.returncode == 2:
        said = done.stderr.replace(f"granary: {file}:", "line ").strip()
        raise Trouble("the nodes of this package would refuse the cluster file, in the copy for this host (absolute "
                      f"paths, no comments):\n{said}", 2)


def _directories(place: Place, wanted: "list[str]") -> "list[str]":
    return [f"directory '{each}'" for each in wanted if place.make_directory(each)]


def _agent(place: Place, modules: "dict[str, str]") -> None:
    for name, source in modules.items():
        files.write(place.agent / f"{name.partition('.')[2] or '__init__'}.py", source)


def _supervisor(place: Place, wanted: str) -> str:
    if wanted == "auto":
        before = place.deployed().get("supervisor")
        return before or (systemd.NAME if systemd.is_here() else "own")
    before = place.deployed().get("supervisor", wanted)
    if before != wanted and any(found["pid"] for found in services.all_of(place).values()):
        raise Trouble(f"nodes run under supervisor '{before}': stop them before another one takes over")
    return wanted


def _point(place: Place, version: str) -> bool:
    """Changes the link `current` at once. Returns whether it was another version's."""
    target = f"versions/{version}"
    if place.current.is_symlink() and os.readlink(place.current) == target:
        return False
    link = place.directory / f".current.{os.getpid()}"
    link.unlink(missing_ok=True)
    try:
        link.symlink_to(target)
        link.replace(place.current)
    finally:
        link.unlink(missing_ok=True)
    return True


def remove_partial(place: Place) -> None:
    """Removes what agents that were killed have left unfinished, but not what belongs to agents that live."""
    for folder in (place.directory, place.versions):
        for each in folder.glob(".*") if folder.is_dir() else ():
            match = PARTIAL.fullmatch(each.name)
            if match and processes.start_ticks(int(match[1] or match[2])) is None:
                files.remove_tree(each)


def _prune(place: Place, current: str) -> None:
    """Removes versions that no service runs, except for the newest of them."""
    used = {found["version"] for found in services.all_of(place).values()} | {current}
    old = [each for each in place.versions.iterdir() if each.name not in used and not each.name.startswith(".")]
    for each in sorted(old, key=lambda path: path.stat().st_mtime)[:-KEPT_VERSIONS]:
        files.remove_tree(each)
