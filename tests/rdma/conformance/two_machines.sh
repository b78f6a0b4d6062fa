#!/bin/sh
# Runs the suite between two machines (scripts/verbs_vm.sh --two): the first one tests, the second has the peers.
#
#   two_machines.sh PROGRAM PEER_PROGRAM [GTEST_FILTER]
program=$1 peer=$2 filter=${3:-*}

[ "$VM" = 0 ] || exec "$peer" agent
"$program" --gtest_filter="$filter"
code=$?
"$peer" end "$VM_PEER"
exit $code
