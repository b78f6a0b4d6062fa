#!/usr/bin/env bash
# A cluster of two hosts, as docs/operations.md has it under "Several hosts": two virtual machines, each with a node, over Soft-RoCE;
# ZooKeeper on the first. SmallBank runs on both; then the money of both is counted together. Nodes are ended and started again with
# their data (restarts.sh).
#
#   two_hosts.sh GRANARY BANK_NODE
#
# Each machine has one processor, on which Soft-RoCE and the node take turns: so nothing comes between the reading and the storing of a
# compare-and-swap, which Soft-RoCE of Linux 6.1 does not do in one step (docs/rdma.md), and transactions may race.
# Exit codes: 1 it failed, 3 there are no machines, or no ZooKeeper, to be had.
set -u
granary=$(realpath "$1") bank=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)

if [[ -z ${VM:-} ]]; then  # on the host: what the machines need has to be here
  "$scripts/setup.sh" --zookeeper >&2 || exit 3
  exec "$scripts/verbs_vm.sh" --two --seconds 900 "$(realpath "$0")" "$granary" "$bank"
fi

fail() { echo "FAILED after $SECONDS s: $*"; exit 1; }
first=10.77.0.1 second=10.77.0.2 node=$((VM + 1))
mkdir /tmp/cluster && cd /tmp/cluster || fail "no directory"

echo 'one key for a test, which is no secret' | sha256sum | cut -c 1-64 > test.key
chmod 600 test.key
cat > cluster.toml << TOML
[cluster]
name = "two-hosts"
provider = "verbs"
swap_stores = "tolerated"
run_directory = "run"
key_file = "test.key"
[membership]
kind = "zookeeper"
servers = ["$first:2181"]
session_timeout_ms = 40000
[clock]
kind = "none"
[defaults]
workers = 1
memory = "128MiB"
data_directory = "/dev/shm/data"
reliable_directory = "/dev/shm/rings"
[[node]]
id = 1
host = "first"
address = "$first"
[[node]]
id = 2
host = "second"
address = "$second"
TOML

# eventually COMMAND...: again and again until it succeeds, for as long as a busy machine may need.
eventually() {
  until "$@" 2> /dev/null; do
    [[ $SECONDS -lt 600 ]] || fail "$*"
    sleep 1
  done
}
check() { "$granary" cluster check cluster.toml --id="$node" > output; }
send_report() { cat report.json > "/dev/tcp/$first/7000"; }

if [[ $node -eq 1 ]]; then
  "$scripts/zookeeper.sh" start zookeeper --address "$first" --port 2181 --tick 2000 || fail "no ZooKeeper"
fi
eventually check
echo "after $SECONDS s: $(cat output)"

bench() {
  "$granary" bench smallbank --cluster=cluster.toml --node="$node" --protocol="$1" --start_timeout=300 --workers=1 --accounts=1000 \
    --distributed_percent=50 --warmup=3 --seconds=5 --noprogress --json=report.json > output 2>&1
}

for protocol in ; do
  bench "$protocol" || fail "granary bench gave $?: $(cat output)"
  echo "after $SECONDS s: $protocol has run"
  if [[ $node -eq 2 ]]; then  # the first host waits for the report meanwhile
    eventually send_report
  fi
  rm -r /dev/shm/data
  [[ $node -eq 1 ]] || continue
  timeout 300 busybox nc -l -p 7000 < /dev/null > other.json || fail "the other host sends no report"
  "$granary" cluster merge smallbank --cluster=cluster.toml --reports=report.json,other.json --json=both.json ||
    fail "granary cluster merge gave $?"
  grep -q '"distributed": [1-9]' both.json || fail "no transaction was of both hosts"
done

SHORT=1 "$here/restarts.sh" "$bank" cluster.toml "$node" /dev/shm/rings || fail "nodes did not start again with their data"
