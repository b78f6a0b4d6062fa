#!/usr/bin/env bash
# Sets the machine up, builds Granary and runs a benchmark on it.
#
#   scripts/run.sh [tpcc|ycsb|kv|...] [flags of `granary bench`]
#   scripts/run.sh cluster [flags of `granary cluster run`]
#
# Default: tpcc with one worker a core and one warehouse a worker, three runs of 30 s: at most 3 minutes after the build.
# cluster: three nodes on this machine run TPC-C, a warehouse each, and then SmallBank.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workload=tpcc
if [[ $# -gt 0 && $1 != -* ]]; then
  workload=$1
  shift
fi

# Three nodes over shared memory, whose files are below build/cluster.
run_cluster() {
  local file=build/cluster/cluster.toml
  mkdir -p build/cluster
  printf '[cluster]\nname = "run"\nrun_directory = "run"\n[defaults]\nworkers = 1\nmemory = "1GiB"\n' > "$file"
  printf '[[node]]\nid = %d\n' 1 2 3 >> "$file"
  local common=("--cluster=$file" --workers=1 --seconds=10 --repeat=1 --verify)
  build/release/granary cluster run tpcc "${common[@]}" --warehouses=3 "$@"
  build/release/granary cluster run smallbank "${common[@]}" "$@"
}

# The value of a flag given as --name=value, else the default.
given() {
  local name=$1 value=$2 argument
  shift 2
  for argument in "$@"; do
    case $argument in --"$name"=* | -"$name"=*) value=${argument#*=} ;; esac
  done
  echo "$value"
}
# add NAME VALUE ARGUMENT...: a default flag, unless it is among the arguments.
defaults=()
add() {
  [[ " ${*:3} " == *" --$1"[=\ ]* || " ${*:3} " == *" -$1"[=\ ]* ]] || defaults+=("--$1=$2")
}
cores=$(nproc)
[[ $cores -le 256 ]] || cores=256
add workers "$cores" "$@"
[[ $workload != tpcc ]] || add warehouses "$(given workers "$cores" "$@")" "$@"

scripts/setup.sh
mkdir -p build
log=build/release.log
echo "run: building build/release"
if ! { cmake --preset release && cmake --build --preset release --parallel "$(nproc)" --target granary_command; } > "$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "run.sh: the build failed; all of its output is in $PWD/$log" >&2
  exit 3
fi
if [[ $workload == cluster ]]; then
  run_cluster "$@"
  exit
fi
echo "run: build/release/granary bench $workload ${defaults[*]} $*"
exec build/release/granary bench "$workload" "${defaults[@]}" "$@"
