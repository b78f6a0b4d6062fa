"""What deploy does about hosts, and install directories, that an earlier cluster file had and this one has no more: no
command could name from now on what runs there.
"""

from typing import Any

from .. import inventory as inventories
from ..errors import HostError, UsageError
from ..hosts import Host, all_hosts
from ..session import Session


def end_on_gone_hosts(session: Session, there: "dict[Host, dict[str, Any]]") -> None:
    """Ends nodes that run on such hosts, where --while-running was said, else refuses. `there`: what `inspect` has
    found on the hosts of the file.
    """
    known = {tuple(found["identity"]) for found in there.values() if found["identity"]}
    silent = [host.label for host in session.hosts if host not in there]
    for host in _gone(session, there):
        place = f"{host.label}, '{host.entry.install_directory}'"
        try:
            found = host.call("inspect", {"package": {"directory": "-"}})
        except HostError as error:
            if not session.flags.while_running:
                raise HostError(f"{place} is no longer in the cluster file, and does not answer, so nodes may run "
                                f"there: {error}. Deploy with --while-running to leave it alone") from error
            session.report.add(host.label, "deploy", f"is no longer in the cluster file; nodes may run there: {error}",
                               ok=False)
            continue
        if found["deployed"] and tuple(found["identity"]) not in known:  # else it is only reached in another way
            _end(session, host, place, silent)


def _end(session: Session, host: Host, place: str, silent: "list[str]") -> None:
    """`silent`: hosts of the file that do not answer. This one may be one of them, reached in the earlier way."""
    services = host.call("status", {"patience_s": 0.1})["services"]
    running = [name for name, each in services.items() if each["pid"] or each["state"] == "pausing"]
    if not running:
        return
    names = ", ".join(running)
    if silent:
        raise HostError(f"{place} is no longer in the cluster file, but runs {names}; this may be "
                        f"{' or '.join(silent)}, which does not answer; nothing was deployed")
    if not session.flags.while_running:
        raise HostError(f"{place} is no longer in the cluster file, but runs {names}: stop the cluster by the earlier "
                        "file first, or deploy with --while-running, which ends the nodes there")
    if session.dry_run:
        session.report.add(host.label, "deploy", f"would end {names}")
        return
    ended = host.call("end_former")["ended"]
    what = ", ".join(ended) or "nothing"
    session.report.add(host.label, "deploy", f"ended {what}, as the cluster file no longer has "
                       f"'{host.entry.install_directory}' there; what is installed stays")


def _gone(session: Session, there: "dict[Host, dict[str, Any]]") -> "list[Host]":
    """Hosts of the copies that were deployed last, one for each way and place that the file has no more."""
    wanted = {(host.entry.access, host.entry.install_directory) for host in session.hosts}
    gone: "dict[tuple[Any, str], Host]" = {}
    for found in there.values():
        try:
            former = inventories.parse(found["file_text"], session.inventory.file)
        except UsageError:  # an earlier release has taken it, or nothing is deployed
            continue
        for each in all_hosts(former, session.ssh):
            place = (each.entry.access, each.entry.install_directory)
            if place not in wanted:
                gone.setdefault(place, each)
    return list(gone.values())
