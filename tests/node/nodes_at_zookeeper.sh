#!/usr/bin/env bash
# Runs two nodes whose ZooKeeper server stands still for longer than a session, so that one of them, or both, lose their membership:
# - a bank (bank_node.cc) that moves money meanwhile comes back under a supervisor, which is a loop here, with all that was released;
# - `granary node` says that it does not hear ZooKeeper, comes back by itself, and serves.
# Then both are killed, and one starts again long before the other, for which it has to wait.
# A node that is told of a new board at a wrong place comes back to its cluster.
# At last ZooKeeper's data are wiped: `granary node` says so within three time-outs, and ends with exit code 6. Both nodes go on with
# --new_board. Then all the money is counted.
#
#   nodes_at_zookeeper.sh GRANARY BANK_NODE ZOOKEEPER_SCRIPT
#
# The exit code is 1 if something failed, 3 if there is no ZooKeeper to be had.
set -u
granary=$(realpath "$1") bank=$(realpath "$2") zookeeper=$(realpath "$3")
. "$(dirname "$(realpath "$0")")/two_nodes.sh"
here=$(mktemp -d --tmpdir granary-zookeeper.XXXXXX)
cd "$here" || exit 1
touch pid-1 pid-2

end() {
  touch enough
  for node in 1 2; do kill -KILL $(cat "pid-$node") 2> /dev/null; done
  "$zookeeper" stop zookeeper
  cd / && rm -rf "$here"
}
trap end EXIT
fail() {
  echo "FAILED after $SECONDS s: $*"
  tail -n 20 output-* errors-* 2> /dev/null
  exit 1
}
# told TEXT COUNT: succeeds if both nodes have printed at least so many lines with the text.
told() { for node in 1 2; do [[ $(cat "output-$node" "errors-$node" 2> /dev/null | grep -c -- "$1") -ge $2 ]] || return 1; done; }

"$zookeeper" start zookeeper --tick 200 > /dev/null || exit 3
readonly session_ms=1500
cluster_file nodes > local.toml
{ cluster_file nodes && zookeeper_membership "$(cat zookeeper/servers)" $session_ms; } > cluster.toml

# stall: lets the server stand still for more than a session, so that its sessions expire.
stall() {
  kill -STOP "$(cat zookeeper/0/pid)"
  sleep 3.5
  kill -CONT "$(cat zookeeper/0/pid)"
}
# supervise FILE NODE: starts the bank again and again until the file `enough` is there.
supervise() {
  rm -f enough
  while [[ ! -e enough ]]; do
    "$bank" "$1" "$2" "receipt-$2" >> "output-$2" 2>> "errors-$2" &
    echo $! > "pid-$2"
    wait $!
    [[ $? -ne 1 ]] || echo "money or moves are missing" >> wrong
    sleep 0.2
  done
}
# run_bank FILE COMMAND...: runs both banks until the command ends. They count the money at every start.
run_bank() {
  local file=$1
  shift
  rm -f output-* errors-*
  supervise "$file" 1 & local first=$!
  supervise "$file" 2 & local second=$!
  await 120 told money 1
  "$@"
  touch enough
  for node in 1 2; do kill -TERM "$(cat "pid-$node")" 2> /dev/null; done
  wait "$first" "$second"
  [[ ! -e wrong ]] || fail "$(cat wrong)"
}

move_through_a_stall() {
  sleep 1
  stall
  await 120 told money 2
  sleep 0.5
}
run_bank cluster.toml move_through_a_stall
echo "after $SECONDS s, the bank: $(tail -q -n 1 output-1)"

rm -f output-* errors-*
start_node() {
  "$granary" node --cluster=cluster.toml --id="$@" > "output-$1" 2> "errors-$1" &
  echo $! > "pid-$1"
}
start_node 1
start_node 2
await 120 told "of 2 serves" 1
# The node that hears the server first may keep its session. Then it recovers the other one, which comes back to it.
anybody_starts_again() { grep -qs "starts again with its data" errors-1 errors-2; }
goes_on() {
  for node in 1 2; do
    if grep -qs "starts again with its data" "errors-$node"; then
      [[ $(grep -c "of 2 serves" "output-$node") -ge 2 ]] || return 1
    else
      grep -qs "is still a member" "errors-$node" || return 1
    fi
  done
}
for _ in 1 2 3 4 5; do
  stall
  sleep 1
  anybody_starts_again && break
done
anybody_starts_again || fail "nobody said that it starts again"
await 120 goes_on
told "has not been heard from" 1 || fail "nobody said that ZooKeeper was silent"
echo "after $SECONDS s, the nodes serve again"

for node in 1 2; do kill -KILL "$(cat pid-$node)"; wait "$(cat pid-$node)" 2> /dev/null; done
sleep 1.5
start_node 1
sleep 4
kill -0 "$(cat pid-1)" 2> /dev/null || fail "node 1 does not wait for node 2, whose entry has outlived it"
start_node 2
await 120 told "of 2 serves" 1
echo "after $SECONDS s, the nodes serve after a kill of both"

# A node that alone is told of a new board, at a wrong place, serves nowhere. Then its cluster takes it back.
for node in 1 2; do kill -KILL "$(cat pid-$node)"; wait "$(cat pid-$node)" 2> /dev/null; done
sed 's|^kind = "zookeeper"|&\nchroot = "/elsewhere"|' cluster.toml > elsewhere.toml
"$granary" node --cluster=elsewhere.toml --id=1 --new_board --start_timeout=3 > output-1 2> errors-1 &&
  fail "node 1 serves alone at a new board"
grep -q "have not joined" errors-1 || fail "node 1 does not wait for node 2 at the new board"
start_node 1
start_node 2
await 120 told "of 2 serves" 1
echo "after $SECONDS s, the nodes serve after a start at a wrong board"

"$zookeeper" stop zookeeper
rm -rf zookeeper/0/data/version-2
"$zookeeper" start zookeeper > /dev/null || fail "ZooKeeper does not start again"
# The nodes must notice within three time-outs after ZooKeeper serves again, which is when `start` has returned.
serves_ms=$(date +%s%3N)
await 60 told "was wiped" 1
took_ms=$(($(date +%s%3N) - serves_ms))
[[ $took_ms -le $((3 * session_ms)) ]] || fail "the nodes noticed after $took_ms ms only, with sessions of $session_ms ms"
for node in 1 2; do
  await 60 bash -c "! kill -0 $(cat pid-$node) 2> /dev/null"
  wait "$(cat pid-$node)"
  code=$?
  [[ $code -eq 6 ]] || fail "node $node ended with exit code $code, not 6"
done
echo "after $SECONDS s, the nodes have ended, $took_ms ms after ZooKeeper served again"

# ZooKeeper's data count as lost for good now. A node that has served at the new board need not be told of it again.
for option in --new_board --log_format=text; do
  start_node 1 "$option"
  start_node 2 "$option"
  await 120 told "of 2 serves" 1
  for node in 1 2; do kill -TERM "$(cat pid-$node)"; wait "$(cat pid-$node)" || fail "node $node did not end in order"; done
done
echo "after $SECONDS s, the nodes have served at a new board"

run_bank local.toml true
grep -h -m 1 money output-1
