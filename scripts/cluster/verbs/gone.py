"""Finds hosts, and install directories, that an earlier cluster file had and this one has no more. It ends what runs
there for deploy, since no command could name it from now on.
"""

from typing import Any

from .. import inventory as inventories
from ..errors import HostError, UsageError
from ..hosts import Host, all_hosts
from ..session import Session


def find(session: Session, there: "dict[Host, dict[str, Any]]") -> "dict[Host, list[str]]":
    """Returns such hosts on which nodes run, with the nodes' names, and refuses them unless --while-running was said.
    `there` is what `inspect` has found on the hosts of the file.
    """
    known = {tuple(found["identity"]) for found in there.values() if found["identity"]}
    silent = [host.label for host in session.hosts if host not in there]
    running = {}
    for host in _gone(session, there):
        try:
            found = host.call("inspect", {"package": {"directory": "-"}})
            if not found["deployed"] or tuple(found["identity"]) in known:
                continue  # nothing is there, or it is only reached in another way
            services = host.call("status", {"patience_s": 0.1})["services"]
        except HostError as error:
            if not session.flags.while_running:
                raise HostError(f"{_place(host)} is no longer in the cluster file, and does not answer, so nodes may "
                                f"run there: {error}. Deploy with --while-running to leave it alone") from error
            session.report.add(host.label, "deploy", "warning: it is no longer in the cluster file, and does not answer, "
                               f"so nodes may run in '{host.entry.install_directory}': {error}")
            continue
        known.add(tuple(found["identity"]))
        if names := _running(session, host, services, silent):
            running[host] = names
    return running


def _running(session: Session, host: Host, services: "dict[str, Any]", silent: "list[str]") -> "list[str]":
    """Returns the nodes that run there, which deploy is to end. `services` is what `status` has found there. `silent`
    are the hosts of the file that do not answer. This host may be one of them, reached in the earlier way.
    """
    running = [name for name, each in services.items() if each["pid"] or each["state"] == "pausing"]
    servers = [name for name in running if not name.startswith("node-")]
    runs = f"{_place(host)} is no longer in the cluster file, but runs {', '.join(servers or running)}"
    if running and silent:
        raise HostError(f"{runs}; this may be {' or '.join(silent)}, which does not answer; nothing was deployed")
    if servers:  # nodes need them
        raise HostError(f"{runs}: 'stop --with-zookeeper' by the earlier file first")
    if running and not session.flags.while_running:
        raise HostError(f"{runs}: stop the cluster by the earlier file first, or deploy with --while-running, which "
                        "ends the nodes there")
    return running


def end(session: Session, running: "dict[Host, list[str]]", installed: bool) -> bool:
    """Ends the nodes that find() has found. Returns whether all is done, so that hosts may forget earlier files.
    `installed` says that all hosts of the file have taken what is new. Where one has not, the file may yet be taken
    back, and the nodes go on.
    """
    ended = installed and not session.dry_run
    for host, names in running.items():
        if session.dry_run:
            session.report.add(host.label, "deploy", f"would end {', '.join(names)}")
        elif not installed:
            nodes = ",".join(name.removeprefix("node-") for name in names)
            session.report.add(host.label, "deploy", f"the cluster file no longer has '{host.entry.install_directory}' "
                               f"there, but {', '.join(names)} was not ended, since not all hosts have taken the file: "
                               f"deploy again, or 'stop --nodes={nodes}' by the earlier file")
        else:
            ended = _end(session, host, names) and ended
    return ended


def _end(session: Session, host: Host, names: "list[str]") -> bool:
    try:
        ended = host.call("end_former")["ended"]
    except HostError as error:
        session.report.add(host.label, "deploy", f"the cluster file no longer has '{host.entry.install_directory}' "
                           f"there, but {', '.join(names)} may run on: {error}; deploy again", ok=False,
                           code=error.code)
        return False
    what = f"ended {', '.join(ended)}" if ended else f"{', '.join(names)} has ended meanwhile"
    session.report.add(host.label, "deploy", f"{what}, as the cluster file no longer has "
                       f"'{host.entry.install_directory}' there; what is installed stays")
    return True


def forget(session: Session, hosts: "list[Host]") -> None:
    """Lets these hosts of the file forget earlier files, since end() has ended the nodes that only those have."""
    session.on_all("deploy", lambda host: host.call("forget_former"), hosts)


def _place(host: Host) -> str:
    return f"{host.label}, '{host.entry.install_directory}'"


def _gone(session: Session, there: "dict[Host, dict[str, Any]]") -> "list[Host]":
    """Returns the hosts of the copies that were deployed last, and of those before them as long as nodes of these may
    run: one host for each way and place that the file has no more.
    """
    wanted = {(host.entry.access, host.entry.install_directory) for host in session.hosts}
    gone: "dict[tuple[Any, str], Host]" = {}
    for text in dict.fromkeys(text for found in there.values() for text in found["file_texts"]):
        try:
            former = inventories.parse(text, session.inventory.file)
        except UsageError:  # only an earlier release takes such a text
            continue
        for each in all_hosts(former, session.ssh):
            place = (each.entry.access, each.entry.install_directory)
            if place not in wanted:
                gone.setdefault(place, each)
    return list(gone.values())
