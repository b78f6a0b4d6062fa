#!/usr/bin/env bash
# Kills three nodes, and starts two of them again. Each waits for the third one until its time is over, and says so when it ends. A node
# that still owes what its killed life has left counts as dead, but the other one must not end its new process.
#
#   not_all_start.sh GRANARY
set -u
granary=$(realpath "$1")
. "$(dirname "$(realpath "$0")")/two_nodes.sh"
here=$(mktemp -d --tmpdir granary-start.XXXXXX)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
fail() { echo "FAILED: $*"; tail -n 5 output-*; exit 1; }

{ cluster_file three && printf '[[node]]\nid = 3\n'; } > cluster.toml
pids=()
start() {
  "$granary" node --cluster=cluster.toml --id="$1" --start_timeout="$2" > "output-$1" 2>&1 &
  pids[$1]=$!
}

for node in 1 2 3; do start $node 30; done
for node in 1 2 3; do
  await 30 grep -q serves output-$node
done
kill -KILL "${pids[@]}"
wait 2> /dev/null

start 1 5
start 3 6
for node in 1 3; do
  wait "${pids[node]}"
  code=$?
  [[ $code -eq 3 ]] || fail "node $node ended with exit code $code, not 3"
  grep -q 'have not joined: .*2' output-$node || fail "node $node does not say whom it has waited for"
done
