"""Starts cluster.sh: it reads the command line, does one command, and shows what happened on which host."""

import sys

if sys.version_info < (3, 11):
    print(f"cluster.sh: Python 3.11 or newer is needed, and '{sys.executable}' is none; PYTHON=... names another",
          file=sys.stderr)
    sys.exit(3)

import argparse

from . import output
from .command_line import parse
from .errors import HostError, UsageError
from .hosts import Ssh, all_hosts
from .inventory import load
from .session import Session
from .signals import Ended, apart, end_by_next, hold_back, raise_ended


def main() -> int:
    if sys.stdout is None:
        output.complain(output.CLOSED)
        return 3
    try:
        flags = parse(sys.argv[1:])
    except SystemExit as end:  # argparse ends so after --help and wrong words
        return int(end.code or 0)
    except output.OutputError as error:
        output.complain(str(error))
        output.end_at_once(error.code)
    raise_ended()
    try:
        return run(flags)
    except Ended as end:
        output.end_at_once(end.code)
    except (UsageError, HostError) as error:
        output.complain(str(error))
        return error.code
    except output.OutputError as error:
        output.complain(str(error))
        output.end_at_once(error.code)
    except OSError as error:  # the command line or the cluster file names this file
        output.complain(f"'{error.filename}': {error.strerror}" if error.filename else str(error))
        return 3


def run(flags: argparse.Namespace) -> int:
    inventory = load(flags.cluster)
    ssh = Ssh(flags.accept_new, flags.ssh_config)
    session = Session(inventory, all_hosts(inventory, ssh), flags, ssh)
    failure: "BaseException | None" = None
    code, left = None, []
    try:
        code = apart(lambda: flags.verb(session))
    except (UsageError, HostError, output.OutputError, OSError, Ended) as error:
        failure = error
        left = _left_under_way(session, error)
    finally:
        hold_back()
        ssh.close()
        end_by_next()
    try:
        if session.report.outcomes:  # this also tells what was done before something went wrong
            output.say(session.report.text())
    except output.OutputError as error:
        error.code = session.report.exit_code() or error.code
        failure = failure or error
    for each in left:
        output.complain(each)
    if failure is not None:
        raise failure
    return code if code is not None else session.report.exit_code()


def _left_under_way(session: Session, error: BaseException) -> "list[str]":
    """Returns what hosts do to its end although a signal ends the command. The report has what they have done."""
    if not isinstance(error, Ended):
        return []
    works = [f"{host.label} goes on with {' and '.join(host.under_way)}" for host in session.hosts if host.under_way]
    return [f"{error}; {each}" for each in works]


sys.exit(main())
