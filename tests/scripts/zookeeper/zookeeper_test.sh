#!/usr/bin/env bash
# Tests scripts/zookeeper.sh: zookeeper_test.sh usage|ensemble. The exit code is 3 if there is no ZooKeeper to be had.

set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/scripts/zookeeper.sh
dir=$(mktemp -d)
trap '"$script" stop "$dir/zk"; rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
# gives CODE COMMAND...: runs the command, which must end with this exit code.
gives() {
  local expected=$1 code=0
  shift
  "$@" > "$dir/output" 2>&1 || code=$?
  [[ $code -eq $expected ]] || { cat "$dir/output" >&2; fail "$* gave $code, not $expected"; }
}

case $1 in
  usage)
    gives 2 "$script"
    gives 2 "$script" start
    gives 2 "$script" dance "$dir/zk"
    gives 2 "$script" start "$dir/zk" --servers 2
    gives 2 "$script" start "$dir/zk" --tick
    gives 2 "$script" start "$dir/zk" --port x
    gives 2 "$script" start "$dir/zk" --address localhost
    gives 2 "$script" stop "$dir/zk" --servers 3
    gives 1 "$script" status "$dir/zk"
    gives 0 "$script" stop "$dir/zk" ;;
  ensemble)
    code=0
    servers=$("$script" start "$dir/zk" --servers 3 --address 127.0.0.2) || code=$?
    [[ $code -eq 0 ]] || exit "$code"
    [[ $servers =~ ^127.0.0.2:[0-9]+,127.0.0.2:[0-9]+,127.0.0.2:[0-9]+$ ]] || fail "servers: $servers"
    gives 0 "$script" status "$dir/zk"
    [[ $(grep -c 'leader$' "$dir/output") -eq 1 && $(grep -c 'follower$' "$dir/output") -eq 2 ]] || fail "$(cat "$dir/output")"
    kill -9 "$(cat "$dir/zk/0/pid")"
    for ((turn = 0; turn < 300; ++turn)); do
      "$script" status "$dir/zk" > "$dir/output" && grep -q 'server 0 .* does not serve' "$dir/output" &&
        grep -q 'leader$' "$dir/output" && break
      sleep 0.1
    done
    [[ $turn -lt 300 ]] || fail "two of three do not serve: $(cat "$dir/output")"
    gives 0 "$script" stop "$dir/zk"
    gives 1 "$script" status "$dir/zk"
    [[ $(grep -c 'process none: does not serve' "$dir/output") -eq 3 ]] || fail "$(cat "$dir/output")" ;;
esac
