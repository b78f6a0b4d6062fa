#!/usr/bin/env bash
# Sets the machine up, builds Granary and runs benchmarks on it.
#
#   scripts/run.sh [flags]
#   scripts/run.sh tpcc|ycsb|kv|... [flags of `granary bench`]
#   scripts/run.sh cluster [tpcc|smallbank|ycsb|lease] [flags of `granary cluster run`]
#
# tpcc: one node with one worker a core and one warehouse a worker, three runs of 30 s.
# cluster: three nodes on this machine run TPC-C, a warehouse each, and then SmallBank, or what is named: 10 s each, a minute in
# all after the build. All conditions are checked. The cluster's file is build/cluster/cluster.toml.
# Without a word: tpcc, in three runs of 15 s, and then the cluster; at most 3 minutes after the build. Flags are then those that
# all of them have, such as --workers and --seconds.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' scripts/run.sh; }
refuse() { echo "run.sh: $*" >&2; exit 2; }
for argument in "$@"; do
  case $argument in
    -h | --help)
      usage
      exit
      ;;
  esac
done

workload=all
if [[ $# -gt 0 && $1 != -* ]]; then
  workload=$1
  shift
fi
cluster_workloads=(tpcc smallbank)
if [[ $workload == cluster && $# -gt 0 && $1 != -* ]]; then
  cluster_workloads=("$1")
  shift
fi
# one_of NAME WHAT KNOWN: refuses a name that is not among the known ones. All that is wrong is told before the set-up and the build,
# which may take long.
one_of() {
  [[ " $3 " == *" $1 "* ]] || refuse "'$1' is no benchmark$2: ${3// /, }"
}
benchmarks=$(sed -n 's/^ *ENTRY([a-z_]*, \([a-z_]*\)).*/\1/p' bench/harness/registry.h | tr '\n' ' ')
[[ $workload =~ ^(all|cluster)$ ]] || one_of "$workload" '' "${benchmarks% }"
for name in "${cluster_workloads[@]}"; do one_of "$name" ' of a cluster' 'tpcc ycsb smallbank tatp lease append'; done
[[ $# -eq 0 || $1 == -* ]] || refuse "'$1' is no flag"

# given NAME DEFAULT ARGUMENT...: prints the value of a flag that is given as --name=value or --name value, else the default.
given() {
  local name=$1 value=$2 before='' argument
  shift 2
  for argument in "$@"; do
    case $before in --"$name" | -"$name") value=$argument ;; esac
    case $argument in --"$name"=* | -"$name"=*) value=${argument#*=} ;; esac
    before=$argument
  done
  echo "$value"
}
workers=$(given workers 1 "$@")
[[ $workers =~ ^[1-9][0-9]*$ ]] || refuse "--workers: '$workers' is no number of workers"
# add NAME VALUE ARGUMENT...: adds a flag to the defaults, unless it is among the arguments.
defaults=()
add() {
  [[ " ${*:3} " == *" --$1"[=\ ]* || " ${*:3} " == *" -$1"[=\ ]* ]] || defaults+=("--$1=$2")
}

# run_one NAME SECONDS ARGUMENT...: runs one process, for so many seconds unless the arguments say otherwise.
run_one() {
  local name=$1 seconds=$2 cores
  shift 2
  cores=$(nproc)
  [[ $cores -le 256 ]] || cores=256
  defaults=()
  add workers "$cores" "$@"
  [[ $name != tpcc ]] || add warehouses "$(given workers "$cores" "$@")" "$@"
  [[ -z $seconds ]] || add seconds "$seconds" "$@"
  echo "run: build/release/granary bench $name ${defaults[*]} $*"
  build/release/granary bench "$name" "${defaults[@]}" "$@"
}

# Runs three nodes over shared memory, whose files are below build/cluster. Each may take a quarter of the machine's memory,
# which is only reserved.
run_cluster() {
  local file=build/cluster/cluster.toml name memory
  memory=$(awk '/^MemTotal:/ { print int($2 / 4096) "MiB" }' /proc/meminfo)
  mkdir -p build/cluster
  printf '[cluster]\nname = "run"\nrun_directory = "run"\n[defaults]\nworkers = %s\nmemory = "%s"\n' \
    "$workers" "$memory" > "$file"
  printf '[[node]]\nid = %d\n' 1 2 3 >> "$file"
  if ! build/release/granary cluster check "$file" > build/cluster/check.log 2>&1; then
    cat build/cluster/check.log >&2
    exit 3
  fi
  for name in "${cluster_workloads[@]}"; do
    defaults=()
    add workers 1 "$@"
    add seconds 10 "$@"
    add repeat 1 "$@"
    [[ $name != tpcc ]] || add warehouses $((3 * workers)) "$@"
    echo "run: build/release/granary cluster run $name --cluster=$file ${defaults[*]} $*"
    build/release/granary cluster run "$name" "--cluster=$file" "${defaults[@]}" "$@"
    echo
  done
}

if [[ ($workload == all || ($workload == cluster && ${#cluster_workloads[@]} -gt 1)) && -n $(given json '' "$@") ]]; then
  refuse "--json takes one result; name one benchmark, as in 'run.sh tpcc' or 'run.sh cluster smallbank'"
fi

scripts/setup.sh
mkdir -p build
log=build/release.log
echo "run: building build/release"
if ! { cmake --preset release && cmake --build --preset release --parallel "$(nproc)" --target granary_package; } > "$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "run.sh: the build failed; all of its output is in $PWD/$log" >&2
  exit 3
fi
case $workload in
  all)
    run_one tpcc 15 "$@"
    echo
    run_cluster "$@"
    ;;
  cluster) run_cluster "$@" ;;
  *) run_one "$workload" '' "$@" ;;
esac
