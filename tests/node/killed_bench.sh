#!/usr/bin/env bash
# Runs SmallBank on two nodes that are started by hand, one on each host. Node 2's process is killed (SIGKILL) in the middle, and started
# again by the same command some time later. Node 1 has to notice that and to go on meanwhile, and node 2 has to come back, recover what
# it had under way, and go on with its data. Then the money of both is counted together, with what the killed process had done.
#
#   killed_bench.sh GRANARY CLUSTER_FILE NODE    runs one node, and leaves report-NODE.json, whose sums are judged by `cluster merge`
#   killed_bench.sh GRANARY [by_host|apart]      runs both on this host; the word says whether they see each other's directories
#
# AWAY is for how many seconds node 2 is away (default 3), WINDOW for how many seconds requests are measured (default 20). The exit code
# is 1 if something failed.
set -u
granary=$(realpath "$1")
. "$(dirname "$(realpath "$0")")/two_nodes.sh"

fail() { echo "FAILED after $SECONDS s, node ${node:-}: $*"; [[ -z ${pid:-} ]] || kill -KILL "$pid" 2> /dev/null; exit 1; }

if [[ $# -le 2 ]]; then
  self=$(realpath "$0") here=$(mktemp -d --tmpdir granary-killed.XXXXXX)
  trap 'rm -rf "$here"' EXIT
  cd "$here" || fail "no directory"
  cluster_file killed "${2:-apart}" > cluster.toml
  "$self" "$granary" cluster.toml 1 & first=$!
  "$self" "$granary" cluster.toml 2
  second=$?
  wait "$first" || exit 1
  [[ $second -eq 0 ]] || exit "$second"
  "$granary" cluster merge smallbank --cluster=cluster.toml --reports=report-1.json,report-2.json || fail "granary cluster merge gave $?"
  exit 0
fi

file=$2 node=$3 output=output-$node
account=()
[[ $node -eq 1 ]] || account=(--account="account-$node")
begin() {
  "$granary" bench smallbank --cluster="$file" --node="$node" --start_timeout=300 --workers=1 --accounts=1000 \
    --distributed_percent=50 --warmup=1 --seconds="${WINDOW:-20}" --json="report-$node.json" "${account[@]}" > "$output" 2>&1 &
  pid=$!
}
lives() { kill -0 "$pid" 2> /dev/null; }
ends() {
  wait "$pid"
  local code=$?
  [[ $code -eq 0 ]] || fail "granary bench gave $code: $(cat "$output")"
}
measures() { lives || fail "granary bench has ended: $(cat "$output")"; grep -q '^\[ *[3-9] s\]' "$output"; }

begin
await 300 measures
if [[ $node -eq 2 ]]; then
  kill -KILL "$pid"
  wait "$pid" 2> /dev/null
  sleep "${AWAY:-3}"
  begin
  ends
  grep -h 'is recovered after' "$output" || fail "node 2 has not recovered its former life: $(cat "$output")"
  grep '^total ' "$output"
  grep -q '"lost_life"' "report-$node.json" || fail "the report does not tell what the killed process had done: $(cat "$output")"
  exit 0
fi
ends
# went_on is the number of seconds in which node 1 did requests while node 2 was dead; -1 if node 2 has not come back.
went_on=$(awk '/node 2 .*found dead/ { away = 1 } /node 2 is back/ { away = 0; back = 1 }
               away && / \/s / && !/ 0 \/s / { ++seconds } END { print back ? seconds + 0 : -1 }' "$output")
grep -hE 'found dead|is back' "$output" | cut -c 1-100
echo "after $SECONDS s, node 1 has gone on for $went_on s while node 2 was dead"
[[ $went_on -ge 1 ]] || fail "node 1 has not gone on, or node 2 has not come back: $(cat "$output")"
