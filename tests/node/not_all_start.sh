#!/usr/bin/env bash
# Three nodes are killed, and two of them start again. Each waits for the third in vain, and says so at its end: although it still owes what
# its killed life has left, and so counts as dead, the other one does not end its process.
#
#   not_all_start.sh GRANARY
set -u
granary=$(realpath "$1") here=$(mktemp -d --tmpdir granary-start.XXXXXX)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
fail() { echo "FAILED: $*"; tail -n 5 output-*; exit 1; }

cat > cluster.toml <<'EOF'
[cluster]
name = "three"
run_directory = "run"
[defaults]
memory = "64MiB"
data_directory = "data"
reliable_directory = "rings"
[[node]]
id = 1
[[node]]
id = 2
[[node]]
id = 3
EOF
pids=()
start() {
  "$granary" node --cluster=cluster.toml --id="$1" --start_timeout="$2" > "output-$1" 2>&1 &
  pids[$1]=$!
}

for node in 1 2 3; do start $node 30; done
for node in 1 2 3; do
  until grep -q serves output-$node; do
    kill -0 "${pids[node]}" 2> /dev/null || fail "node $node does not serve"
    sleep 0.05
  done
done
kill -KILL "${pids[@]}"
wait 2> /dev/null

start 1 2
start 3 3
for node in 1 3; do
  wait "${pids[node]}"
  code=$?
  [[ $code -eq 3 ]] || fail "node $node ended with exit code $code, not 3"
  grep -q 'have not joined: .*2' output-$node || fail "node $node does not say whom it has waited for"
done
