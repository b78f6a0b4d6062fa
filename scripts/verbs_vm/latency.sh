#!/usr/bin/env bash
# Compares the latency of Granary's RDMA operations with perftest's, on the machine's only device, in alternation:
#
#   scripts/verbs_vm.sh scripts/verbs_vm/latency.sh build/release/bench/micro/verbs/granary_verbs_latency [ROUNDS]
#
# It prints each round's medians in microseconds, and the ratio of Granary's middle median to perftest's. The exit code is 1 if
# Granary takes over 10 % more.

set -euo pipefail
program=$1 rounds=${2:-5}
device=$(ibv_devices | awk 'NR == 3 { print $1 }')

# perftest TOOL ARGUMENT...: prints the median of 5000 operations from one process to another.
port=19000
perftest() {
  local command=(timeout 30 "$1" -d "$device" -x 1 -n 5000 -p "$port" "${@:2}") server
  taskset -c 0 "${command[@]}" > /dev/null 2>&1 &
  server=$!
  for ((attempt = 0; attempt < 100; ++attempt)); do [[ -z $(ss -Hltn "sport = :$port") ]] || break; sleep 0.1; done
  taskset -c 1 "${command[@]}" "$VM_ADDRESS" 2>&1 | awk '$2 == 5000 { print $5; found = 1 } { all = all $0 "\n" } END { if (!found) { print all > "/dev/stderr"; exit 1 } }'
  wait "$server"
}
middle() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

declare -A ours=() theirs=()
for ((round = 0; round < rounds; ++round)); do
  times=$(taskset -c 1 "$program")
  for kind in READ CAS; do ours[$kind]+="$(awk -v kind="$kind" '$1 == kind { print $3 }' <<< "$times")"$'\n'; done
  port=$((port + 2))
  theirs[READ]+=$(perftest ib_read_lat -s 64)$'\n'
  port=$((port + 2))
  theirs[CAS]+=$(perftest ib_atomic_lat -A CMP_AND_SWAP)$'\n'
done

result=0
for kind in READ CAS; do
  mine=$(printf '%s' "${ours[$kind]}" | middle) perftest=$(printf '%s' "${theirs[$kind]}" | middle)
  echo "$kind: granary ${ours[$kind]//$'\n'/ } perftest ${theirs[$kind]//$'\n'/ } us"
  awk -v kind="$kind" -v mine="$mine" -v theirs="$perftest" 'BEGIN {
    printf "%s: %.2f us, perftest %.2f us, ratio %.2f\n", kind, mine, theirs, mine / theirs
    exit !(mine <= 1.1 * theirs)
  }' || result=1
done
exit "$result"
