#!/usr/bin/env bash
# Runs the program on a system that allows a process only so many threads: 0, 1, 2 and so on, until they suffice. Each time the program
# either does what it was asked for, or says that it was refused a thread and ends with exit code 3. Its data are there the next time.
#
#   refused_threads.sh GRANARY SHIM    SHIM: refused_threads.cc as a library
set -u
granary=$(realpath "$1") shim=$(realpath "$2") here=$(mktemp -d --tmpdir granary-threads.XXXXXX)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
fail() { echo "FAILED with $threads threads: $*"; cat output; exit 1; }

cat > cluster.toml <<'EOF'
[cluster]
name = "threads"
run_directory = "run"
[defaults]
memory = "64MiB"
workers = 2
data_directory = "data"
reliable_directory = "rings"
[[node]]
id = 1
EOF

# until_it_runs LEAST COMMAND...: runs the command with ever more threads until it succeeds. Fewer threads than LEAST must not suffice.
until_it_runs() {
  local most=$1 code
  shift
  for ((threads = 0;; ++threads)); do
    env LD_PRELOAD="$shim" GRANARY_THREADS="$threads" "$@" > output 2>&1
    code=$?
    [[ $code -ne 0 ]] || break
    [[ $code -eq 3 ]] || fail "exit code $code"
    grep -q 'refuses another thread' output || fail "it does not say why"
    [[ $threads -lt 40 ]] || fail "it never runs"
  done
  [[ $threads -ge $most ]] || fail "this many suffice, so the threads are not refused"
  echo "$threads threads suffice for: ${*: -3}"
}

# serve: starts a node, and ends it in order once it serves.
serve() {
  "$granary" node --cluster=cluster.toml --id=1 --start_timeout=20 &
  local node=$!
  until grep -q 'serves' output || ! kill -0 $node 2> /dev/null; do sleep 0.02; done
  kill -TERM $node 2> /dev/null
  wait $node
}
export -f serve
export granary

until_it_runs 5 bash -c serve
until_it_runs 5 bash -c serve  # this node has data to recover
until_it_runs 2 "$granary" bench ycsb --keys=1000 --workers=2 --seconds=0.1 --warmup=0
until_it_runs 2 "$granary" bench ycsb --keys=1000 --workers=2 --seconds=0.1 --warmup=0 --durability=tmpfs
