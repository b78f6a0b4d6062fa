#!/usr/bin/env bash
# Installs, starts, watches and ends the nodes of a cluster, on this host or on others by ssh: docs/deployment.md.
#
#   scripts/cluster.sh COMMAND --cluster=FILE [flags]
#   scripts/cluster.sh --help
#   scripts/cluster.sh COMMAND --help
#
# It needs Python 3.11 here (PYTHON names one that is not python3) and 3.9 on the hosts. Exit codes: 0 ok, 1 a check
# failed or a node did not end in order, 2 wrong usage, 3 something did not work on some host or the output cannot be
# written, 128 + N signal N ended it.

set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# No module is taken from the working directory, which may belong to another user.
export PYTHONSAFEPATH=1 PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
exec "${PYTHON:-python3}" -B -m cluster "$@"
