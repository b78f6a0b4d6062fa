#!/usr/bin/env bash
# Runs a cluster of two hosts, as docs/operations.md has it under "Several hosts": two virtual machines, each with a node, over Soft-RoCE,
# and ZooKeeper on the first. SmallBank runs on both; then the money of both is counted together. `bench lease` reads under leases what
# others write, and its increments are counted: ptp4l keeps the second host's clock at the first's (docs/clock.md). SmallBank runs once
# more while that clock is set by an hour, again and again, and while the process of one host is killed and comes back (killed_bench.sh).
# At the end, nodes are ended and started again with their data (restarts.sh).
#
#   two_hosts.sh GRANARY BANK_NODE
#
# Each machine has one processor, on which Soft-RoCE and the node take turns. So nothing comes between the reading and the storing of a
# compare-and-swap, which Soft-RoCE of Linux 6.1 does not do in one step (docs/rdma.md), and transactions may race.
# Exit codes: 1 the test failed, 3 there are no machines, or no ZooKeeper, to be had.
set -u
granary=$(realpath "$1") bank=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)

if [[ -z ${VM:-} ]]; then  # this is the host, which must have what the machines need
  "$scripts/setup.sh" --zookeeper >&2 || exit 3
  exec "$scripts/verbs_vm.sh" --two --seconds 900 "$(realpath "$0")" "$granary" "$bank"
fi

fail() { echo "FAILED after $SECONDS s: $*"; exit 1; }
first=10.77.0.1 second=10.77.0.2 node=$((VM + 1))
mkdir /tmp/cluster && cd /tmp/cluster || fail "no directory"

echo 'one key for a test, which is no secret' | sha256sum | cut -c 1-64 > test.key
chmod 600 test.key
# cluster_file NAME: prints a cluster file with the section [clock] from its input. Each name has its own place at ZooKeeper. A cluster
# that begins with empty directories needs a new one: a cluster whose configuration knows of data refuses to serve without them.
cluster_file() {
  cat << TOML
[cluster]
name = "$1"
provider = "verbs"
swap_stores = "tolerated"
run_directory = "run"
key_file = "test.key"
[membership]
kind = "zookeeper"
servers = ["$first:2181"]
chroot = "/$1"
session_timeout_ms = 40000
[clock]
$(cat)
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
}
unclocked() { cluster_file "two-hosts-$1" <<< 'kind = "none"'; }
unclocked start > start.toml

# The first host is the grandmaster. The emulator takes packets only when it gets its turn, so that an offset of a millisecond at times
# looks like 10 ms, and on a busy machine like 250 ms. So the servo is slow to follow, the agreed bound is wide, and leases are long.
start_ptp() {
  cat > ptp.cfg << CFG
[global]
time_stamping software
network_transport L2
logSyncInterval -3
logMinDelayReqInterval -3
logAnnounceInterval -2
announceReceiptTimeout 20
pi_proportional_const 0.3
pi_integral_const 0.01
first_step_threshold 0.00002
step_threshold 0
uds_address $PWD/ptp4l
$([[ $node -eq 1 ]] && echo 'priority1 10' || echo 'slaveOnly 1')
CFG
  chrt --fifo 10 ptp4l -f ptp.cfg -i eth0 -m > ptp.log 2>&1 &
}
clocked() {
  cluster_file "two-hosts-$1" << CLOCK | sed 's/^run_directory/lease_us = 100000\n&/'
kind = "ptp"
pmc_socket = "$PWD/ptp4l"
grandmaster = "525400.fffe.770001"
max_error_us = 100000
CLOCK
}
count_of() { grep -o "\"$1\": [0-9]*" report.json | head -n 1 | grep -o '[0-9]*$'; }
clock_of_run() { grep -m 1 -A 6 '"clock"' report.json | tr -s ' \n' ' '; }

bench_by_ptp() {
  clocked ptp > ptp.toml
  eventually check ptp.toml
  echo "after $SECONDS s: $(grep clock output); ptp4l: $(tail -n 1 ptp.log)"
  bench_leases || fail "granary bench gave $?: $(cat output)"
  rm -r /dev/shm/data
  echo "after $SECONDS s: lease_2pl has run by ptp: $(count_of leases) leases; $(clock_of_run)"
  [[ $(count_of leases) -gt 0 ]] || fail "there were no leases: $(cat ptp.log)"
  count_together lease ptp.toml
}

# When the second host's clock is set, its node sees that at once, and locks what it would have leased. SmallBank leases no record that
# is written. It must not here: a node that has no time cannot write what was leased before (docs/clock.md), and this one never has one.
bench_while_the_clock_is_set() {
  local setter=
  if [[ $node -eq 2 ]]; then
    until [[ -e enough ]]; do
      sleep 0.7
      date --set='+1 hour'
      sleep 0.7
      date --set='-1 hour'
    done > /dev/null &
    setter=$!
  fi
  clocked set > set.toml
  bench_smallbank lease_2pl set.toml 3 || fail "granary bench gave $?: $(cat output)"
  [[ -z $setter ]] || { touch enough && wait "$setter"; }
  rm -r /dev/shm/data
  echo "after $SECONDS s: lease_2pl has run while a clock was set: $(count_of leases) leases; $(clock_of_run)"
  [[ $node -eq 1 || $(count_of jumps) -gt 0 ]] || fail "the clock was set, and nobody noticed"
  count_together smallbank set.toml
}

# eventually COMMAND...: runs the command again and again until it succeeds, for as long as a busy machine may need.
eventually() {
  until "$@" 2> /dev/null; do
    [[ $SECONDS -lt 600 ]] || fail "$*"
    sleep 1
  done
}
check() { "$granary" cluster check "${1:-start.toml}" --id="$node" > output; }
send_report() { cat report.json > "/dev/tcp/$first/7000"; }

# agree_on_window: sets `window`, for how many seconds both measure, which the first host decides. It is longer on a busy host: node 2
# was back 13 s after it was killed where the set-up had taken 22 s, and after 50 s where that had taken 112 s, with eight busy tasks
# on two cores.
agree_on_window() {
  window=$((set_up_seconds < 170 ? 30 + set_up_seconds : 200))  # the machines do not last for ever
  if [[ $node -eq 1 ]]; then
    echo "$window" | timeout 300 busybox nc -l -p 7001 > /dev/null || fail "the other host does not ask for how long to measure"
  else
    eventually ask_for_window
  fi
}
ask_for_window() { read -r window < "/dev/tcp/$first/7001"; }

# In this cluster a node's death is noticed sooner, but not so soon that a machine whose host is busy is taken for dead.
bench_while_one_is_killed() {
  agree_on_window
  unclocked killed | sed 's/^session_timeout_ms.*/session_timeout_ms = 20000/' > killed.toml
  AWAY=10 WINDOW=$window "$here/killed_bench.sh" "$granary" killed.toml "$node" || fail "a node that was killed has not come back to the other"
  rm -r /dev/shm/data /dev/shm/rings
  mv "report-$node.json" report.json
  count_together smallbank killed.toml
}

start_ptp
if [[ $node -eq 1 ]]; then
  "$scripts/zookeeper.sh" start zookeeper --address "$first" --port 2181 --tick 2000 || fail "no ZooKeeper"
fi
eventually check
set_up_seconds=$SECONDS
echo "after $set_up_seconds s: $(cat output)"

# bench NAME FILE FLAGS...
bench() {
  "$granary" bench "$1" --cluster="$2" --node="$node" --start_timeout=300 --workers=1 --distributed_percent=50 --warmup=3 --noprogress \
    --json=report.json "${@:3}" > output 2>&1
}
# bench_smallbank PROTOCOL FILE SECONDS
bench_smallbank() { bench smallbank "$2" --protocol="$1" --accounts=1000 --seconds="$3"; }
bench_leases() { bench lease ptp.toml --protocol=lease_2pl --keys=1000 --records=4 --seconds=3; }

# count_together NAME FILE: sends the second host's report to the first, which counts the money, or the increments, of both.
count_together() {
  if [[ $node -eq 2 ]]; then
    eventually send_report
    return
  fi
  timeout 300 busybox nc -l -p 7000 < /dev/null > other.json || fail "the other host sends no report"
  "$granary" cluster merge "$1" --cluster="$2" --reports=report.json,other.json --json=both.json || fail "granary cluster merge gave $?"
  [[ $1 != smallbank ]] || grep -q '"distributed": [1-9]' both.json || fail "no transaction was of both hosts"
}

for protocol in occ lease_2pl; do
  unclocked "$protocol" > "$protocol.toml"
  bench_smallbank "$protocol" "$protocol.toml" 5 || fail "granary bench gave $?: $(cat output)"
  echo "after $SECONDS s: $protocol has run"
  rm -r /dev/shm/data
  count_together smallbank "$protocol.toml"
done

bench_by_ptp
bench_while_the_clock_is_set
bench_while_one_is_killed
unclocked restarts > restarts.toml
SHORT=1 "$here/restarts.sh" "$bank" restarts.toml "$node" /dev/shm/rings || fail "nodes did not start again with their data"

# The second host tells the first when its node has ended, which needs the first host's ZooKeeper until then.
say_goodbye() { echo > "/dev/tcp/$first/7000"; }
if [[ $node -eq 1 ]]; then
  timeout 300 busybox nc -l -p 7000 < /dev/null || fail "the other host has not ended"
  exit 0
fi
for ((turn = 0; turn < 60; ++turn)); do
  if say_goodbye 2> /dev/null; then exit 0; fi
  sleep 1
done
fail "the first host does not listen"
