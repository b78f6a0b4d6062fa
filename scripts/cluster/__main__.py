"""cluster.sh: reads the command line, does one command, shows what happened where."""

import os
import sys

if sys.version_info < (3, 11):
    print(f"cluster.sh: Python 3.11 or newer is needed, and '{sys.executable}' is none; PYTHON=... names another",
          file=sys.stderr)
    sys.exit(3)

from .command_line import parse
from .errors import HostError, UsageError
from .hosts import Ssh, all_hosts, close_standard_output
from .inventory import load
from .session import Session


def main() -> int:
    flags = parse(sys.argv[1:])
    try:
        inventory = load(flags.cluster)
        ssh = Ssh(flags.accept_new, flags.ssh_config)
        try:
            session = Session(inventory, all_hosts(inventory, ssh), flags)
            try:
                code = flags.verb(session)
            finally:  # also what was done before something went wrong
                if session.report.outcomes:
                    print(session.report.text(), flush=True)
            return code if code is not None else session.report.exit_code()
        finally:
            ssh.close()
    except UsageError as error:
        print(f"cluster.sh: {error}", file=sys.stderr)
        return 2
    except HostError as error:
        print(f"cluster.sh: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        sys.stdout.flush()
        os._exit(130)  # at once: threads may wait for hosts that have nothing to say
    except BrokenPipeError:
        close_standard_output()
        return 3


sys.exit(main())
