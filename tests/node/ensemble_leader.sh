#!/usr/bin/env bash
# Runs two nodes of a bank (bank_node.cc) at an ensemble of three ZooKeeper servers, whose leader is killed. The others elect a new one
# in less than the nodes' session, so money goes on moving, no node loses its membership or is found dead, and all the money is there.
#
#   ensemble_leader.sh BANK_NODE ZOOKEEPER_SCRIPT
#
# The exit code is 1 if something failed, 3 if there is no ZooKeeper to be had.
set -u
bank=$(realpath "$1") zookeeper=$(realpath "$2")
. "$(dirname "$(realpath "$0")")/two_nodes.sh"
here=$(mktemp -d --tmpdir granary-ensemble.XXXXXX)
cd "$here" || exit 1

end() {
  for node in 1 2; do kill -KILL "$(cat "pid-$node" 2> /dev/null)" 2> /dev/null; done
  "$zookeeper" stop zookeeper
  cd / && rm -rf "$here"
}
trap end EXIT
fail() {
  echo "FAILED after $SECONDS s: $*"
  tail -n 20 output-* 2> /dev/null
  exit 1
}
# told TEXT: succeeds if both nodes have printed the text.
told() { grep -qs -- "$1" output-1 && grep -qs -- "$1" output-2; }
# moves NODE: prints how many of the node's moves have been released.
moves() { cat "receipt-$1" 2> /dev/null || echo 0; }
# moved NODE MOVES: succeeds if more than this many of the node's moves have been released.
moved() { [[ $(moves "$1") -gt $2 ]]; }
leader() { "$zookeeper" status zookeeper | sed -n 's/^server \([0-9]\) .*, process \([0-9]*\): leader$/\1 \2/p'; }

# Sessions are long, so that an election on a busy machine takes only a part of a session.
"$zookeeper" start zookeeper --servers 3 --tick 1000 > /dev/null || exit 3
{ cluster_file ensemble && zookeeper_membership "$(cat zookeeper/servers)" 20000; } > cluster.toml
for node in 1 2; do
  "$bank" cluster.toml $node "receipt-$node" > "output-$node" 2>&1 &
  echo $! > "pid-$node"
done
await 120 told "money 1600"
for node in 1 2; do await 60 moved $node 0; done

read -r former process <<< "$(leader)"
[[ -n $process ]] || fail "no server leads: $("$zookeeper" status zookeeper)"
kill -KILL "$process"
# Once another server leads, moves that are released show that the nodes went through the election.
await 120 bash -c "'$zookeeper' status zookeeper | grep -v '^server $former ' | grep -q ': leader'"
for node in 1 2; do await 60 moved $node "$(moves $node)"; done
kill -TERM "$(cat pid-1)" "$(cat pid-2)"
for node in 1 2; do
  wait "$(cat pid-$node)" || fail "node $node ended with exit code $?"
done
grep -h -e "found dead" -e "lost membership" output-* && fail "a node was lost"

rm -f output-*
for node in 1 2; do
  "$bank" cluster.toml $node "receipt-$node" > "output-$node" 2>&1 &
  echo $! > "pid-$node"
done
await 120 told "money 1600"
kill -TERM "$(cat pid-1)" "$(cat pid-2)"
for node in 1 2; do
  wait "$(cat pid-$node)" || fail "node $node ended with exit code $? when the money was counted"
done
echo "after $SECONDS s: $(head -q -n 1 output-1)"
