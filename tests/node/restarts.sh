#!/usr/bin/env bash
# Ends a bank of two nodes (bank_node.cc) and starts it again with its data: in order, by SIGKILL, and with node 2's rings lost.
# Each time all money must be there, and all that had been released.
#
#   restarts.sh BANK_NODE CLUSTER_FILE NODE RINGS    runs one node, with its rings below the directory RINGS; the other one runs
#                                                    on another host
#   restarts.sh BANK_NODE [by_host|apart]            runs both on this host; the word says whether they see each other's directories
#
# SHORT=1 leaves out the round in which both are killed. The exit code is 1 if something failed.
set -u
bank=$(realpath "$1")
. "$(dirname "$(realpath "$0")")/two_nodes.sh"

fail() { echo "FAILED after $SECONDS s, node ${node:-}: $*"; [[ -z ${pid:-} ]] || kill -KILL "$pid" 2> /dev/null; exit 1; }

if [[ $# -le 2 ]]; then
  self=$(realpath "$0") here=$(mktemp -d --tmpdir granary-restarts.XXXXXX)
  trap 'rm -rf "$here"' EXIT
  cd "$here" || fail "no directory"
  cluster_file restarts "${2:-by_host}" > cluster.toml
  "$self" "$bank" cluster.toml 1 rings/node-1 & first=$!
  "$self" "$bank" cluster.toml 2 rings/node-2
  second=$?
  wait "$first" || exit 1
  exit "$second"
fi

file=$2 node=$3 rings=$4

# begin WHEN: starts the node, and returns once it has counted the money and moves it. If bank_node ends with 3, as it does while the
# other node has not ended yet, it is started again.
begin() {
  local until=$((SECONDS + 300)) code
  while :; do
    rm -f "output-$node"
    "$bank" "$file" "$node" "receipt-$node" > "output-$node" 2>&1 &
    pid=$!
    until grep -qs money "output-$node"; do
      kill -0 "$pid" 2> /dev/null || break
      sleep 0.1
    done
    grep -qs money "output-$node" && break
    wait "$pid"
    code=$?
    [[ $code -eq 3 && $SECONDS -lt $until ]] || fail "bank_node gave $code: $(cat "output-$node")"
    sleep 0.3
  done
  echo "after $SECONDS s, node $node, $1: $(cat "output-$node")"
}
# ends: waits until the node ends in order, which it also does by itself when the other one does.
ends() {
  wait "$pid"
  local code=$?
  [[ $code -eq 0 ]] || fail "bank_node gave $code: $(cat "output-$node")"
}
die() {
  kill -KILL "$pid" 2> /dev/null
  wait "$pid" 2> /dev/null
}

begin "new"
sleep 2
kill -TERM "$pid" 2> /dev/null
ends
begin "after an end in order"
if [[ $node -eq 2 ]]; then
  sleep 1
  die
  rm -rf "${rings:?}"
else
  ends
fi
begin "after node 2 died and lost its rings"
if [[ -z ${SHORT:-} ]]; then
  sleep 1
  die
  begin "after both died"
fi
sleep 1
kill -TERM "$pid" 2> /dev/null
ends
