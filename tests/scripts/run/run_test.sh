#!/usr/bin/env bash
# Tests what scripts/run.sh refuses, in a copy whose set-up only notes that it was begun: wrong words are to be told before anything is
# installed or built. GRANARY names the program, whose benchmarks run.sh has to know.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/scripts" "$dir/bench/harness"
cp "$root/scripts/run.sh" "$dir/scripts"
cp "$root/bench/harness/registry.h" "$dir/bench/harness"
printf '#!/bin/sh\necho set-up\ntouch "%s/begun"\nexit 9\n' "$dir" > "$dir/scripts/setup.sh"
chmod +x "$dir/scripts/setup.sh"

fail() { echo "FAILED: $*" >&2; exit 1; }
# gives CODE WORDS ARGUMENT...: runs run.sh, which must end with this exit code and say these words. Exit code 9 is that of the set-up.
gives() {
  local expected=$1 words=$2 code=0
  shift 2
  "$dir/scripts/run.sh" "$@" > "$dir/output" 2>&1 || code=$?
  [[ $code -eq $expected ]] || fail "run.sh $* gave $code, not $expected: $(cat "$dir/output")"
  grep -qF -e "$words" "$dir/output" || fail "run.sh $* does not say '$words': $(cat "$dir/output")"
  [[ -e $dir/begun && $code -eq 9 || ! -e $dir/begun && $code -ne 9 ]] || fail "run.sh $* has begun the set-up"
  rm -f "$dir/begun"
}

gives 2 "'tpc' is no benchmark: tpcc, ycsb, " tpc
gives 2 "'hash' is no benchmark of a cluster: tpcc, ycsb, " cluster hash
for flag in --workers=abc --workers=0 --workers=1.5 '--workers x' '-workers x'; do
  for workload in '' tpcc cluster 'cluster lease'; do
    # shellcheck disable=SC2086
    gives 2 "is no number of workers" $workload $flag
  done
done
gives 2 "'lease' is no flag" cluster tpcc lease
for words in -h --help 'tpcc --help' 'tpcc --workers=1 -h' 'cluster --help' 'cluster tpcc --help' 'tpc --help'; do
  # shellcheck disable=SC2086
  gives 0 'scripts/run.sh cluster [' $words
done
listed() { "$GRANARY" "$@" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p'; }
[[ $(listed bench | wc -l) -gt 10 && $(listed cluster run | wc -l) -gt 3 ]] || fail "granary lists no benchmarks"
for name in $(listed bench); do gives 9 set-up "$name" --workers=2; done
for name in $(listed cluster run); do gives 9 set-up cluster "$name" --workers 2 --seconds 3; done
gives 9 set-up
