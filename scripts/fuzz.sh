#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz (with libFuzzer of clang 16, from scripts/setup.sh --fuzz) and runs one after the other.
#
#   scripts/fuzz.sh [SECONDS] [TARGET]     60 seconds each; TARGET is one of tests/fuzz/corpus, else all
#
# Each fuzzer goes on where earlier runs ended: inputs that reach more code than the corpus in tests/fuzz/corpus are kept in
# GRANARY_FUZZ_DIR/TARGET/corpus (default: ~/.cache/granary-fuzz), and inputs that break a target in GRANARY_FUZZ_DIR/TARGET/found.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
targets=("${2:-}")
[[ -n ${2:-} ]] || mapfile -t targets < <(ls tests/fuzz/corpus)
if [[ ! $seconds =~ ^[1-9][0-9]*$ || $# -gt 2 || ! -d tests/fuzz/corpus/${targets[0]} ]]; then
  echo "fuzz.sh: usage: scripts/fuzz.sh [SECONDS] [TARGET]; targets are: $(ls -x tests/fuzz/corpus)" >&2
  exit 2
fi

kept=${GRANARY_FUZZ_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/granary-fuzz}
mkdir -p build
log=build/fuzz.log
if ! { cmake --preset fuzz && cmake --build --preset fuzz --parallel "$(nproc)"; } > "$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "fuzz.sh: the fuzzers cannot be built; clang 16 with libFuzzer comes with scripts/setup.sh --fuzz" >&2
  exit 3
fi

# A symbolizer gives stack traces their names. addr2line is one that comes with the compilers.
export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(command -v addr2line || true)}

broken=0
for target in "${targets[@]}"; do
  program=build/fuzz/tests/fuzz/fuzz_$target
  mkdir -p "$kept/$target/corpus" "$kept/$target/found"
  log=$kept/$target/log
  if "$program" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$kept/$target/found/" "$kept/$target/corpus" "tests/fuzz/corpus/$target" > "$log" 2>&1; then
    awk -v target="$target" '/number_of_executed_units/ { printf "%-10s %9d inputs, nothing found\n", target, $2 }' "$log"
    continue
  fi
  broken=$((broken + 1))
  grep -v '^#' "$log" | tail -n 60
  echo "$target is broken; all output is in $log, the input in the file named above. To see it again: $program FILE"
  echo "When it is mended, keep the input as tests/fuzz/corpus/$target/found-NAME, which every build tests."
done
[[ $broken -eq 0 ]]
