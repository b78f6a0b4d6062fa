#!/usr/bin/env bash
# Sets the machine up, builds Granary in all test configurations and runs all tests. See docs/testing.md.
#
#   scripts/test.sh          runs the whole suite, ASan+UBSan on the unit tests, TSan on the stress tests, and each fuzzer for
#                            5 seconds. It is meant to take 25 minutes on 2 cores, and longer when all has to be built first.
#   scripts/test.sh --full   also runs the slow tests, every label under the sanitizers, 20 times the rounds, and each fuzzer
#                            for 5 minutes. It takes hours.
#
# Tests that need RDMA devices run in virtual machines with Soft-RoCE (scripts/verbs_vm.sh). Where these cannot be had, the tests
# are skipped, and the summary says so.
#
# At the end it prints where its time went, by stages and by test programs, and once more what failed.
#
# The last line is `N passed, N failed` (and `, N skipped` if any); the exit code is 0 if nothing failed.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 3

full=no
case ${1:-} in
  '') ;;
  --full) full=yes; export GRANARY_TEST_SCALE=${GRANARY_TEST_SCALE:-20} GRANARY_TEST_ANEW=1 ;;
  *) echo "test.sh: unknown argument '$1'; it takes --full or nothing" >&2; exit 2 ;;
esac

cores=$(nproc)
at_once=$((cores + 1))  # one more test runs at a time than there are cores, as some wait for most of their time
passed=0 failed=0 skipped=0
summary=() reports=()
# A machine that only tests, and edits nothing, compiles several sources at once.
configure=()
[[ ${CI:-} == true ]] && configure=(-DGRANARY_UNITY=ON)

heading() { printf '\n== [%4d s] %s\n' "$SECONDS" "$1"; }

# took NAME: adds the time since the stage before to the summary.
stage_began=0
took() {
  summary+=("$(printf '%-50s %5d s' "$1" $((SECONDS - stage_began)))")
  stage_began=$SECONDS
}

# note NAME PASSED FAILED SKIPPED: adds one stage with its tests to the summary.
note() {
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
  took "$1"
  summary[-1]+="$(printf '   %5d passed %3d failed %3d skipped' "$2" "$3" "$4")"
}

# check NAME COMMAND...: runs a stage that passes or fails as one test.
check() {
  local name=$1
  shift
  heading "$name"
  if "$@"; then note "$name" 1 0 0; else note "$name" 0 1 0; fi
}

# build PRESET TARGET...: builds the targets, and is quiet unless that fails.
build() {
  local preset=$1 log=build/$1.log
  shift
  heading "build $preset ($*)"
  mkdir -p build
  if ! { cmake --preset "$preset" "${configure[@]}" && cmake --build --preset "$preset" --parallel "$cores" --target "$@"; } > "$log" 2>&1; then
    grep -E -A 12 'error|FAILED|CMake Error' "$log" | head -n 80
    echo "the build failed; all of its output is in $PWD/$log"
    note "build $preset" 0 1 0
    return 1
  fi
  took "build $preset"
}

# suite NAME PRESET CTEST-ARGUMENT...: runs ctest, and counts the tests in its JUnit report.
suite() {
  local name=$1 preset=$2 report=$PWD/build/tests-${#reports[@]}.xml counts
  shift 2
  heading "$name"
  rm -f "$report"
  ctest --preset "$preset" --parallel "$at_once" --no-tests=error --output-junit "$report" --progress "$@" |
    tr '\r' '\n' | grep -v -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* (Passed|\.\.\.)|^ *Start +[0-9]+:|^$|^Test project'
  counts=$(python3 scripts/count_tests.py "$report") || counts="0 1 0"
  reports+=("$name=$report")
  # shellcheck disable=SC2086  # three words
  note "$name" $counts
}

heading "set-up"
scripts/setup.sh || exit 3
if command -v clang-format-16 > /dev/null; then
  check "format (clang-format-16)" scripts/format.sh --check
fi

slow=(-LE 'slow|verbs') verbs=(-L verbs -LE slow) sanitized_unit=(-L unit -LE 'slow|once') sanitized_stress=(-L stress -LE 'slow|once')
targets_asan=(tests_unit) targets_tsan=(tests_stress) fuzz_seconds=5
if [[ $full == yes ]]; then
  slow=(-LE verbs) verbs=(-L verbs) sanitized_unit=(-LE verbs) sanitized_stress=(-LE verbs) targets_asan=(all) targets_tsan=(all) fuzz_seconds=300
fi

if [[ $full == yes ]]; then
  scripts/setup.sh --package || echo "without lintian and mmdebstrap: tests of packages are skipped"
fi
build check all && suite "whole suite (release with checks)" check "${slow[@]}"
heading "virtual machines"
if scripts/setup.sh --verbs && scripts/verbs_vm/kernel.sh > /dev/null; then
  suite "verbs (Soft-RoCE in virtual machines)" check "${verbs[@]}"
else
  echo "skipped: the packages for virtual machines with Soft-RoCE cannot be had"
  note "verbs" 0 0 1
fi
build asan "${targets_asan[@]}" && suite "ASan and UBSan" asan "${sanitized_unit[@]}"
build tsan "${targets_tsan[@]}" && suite "TSan" tsan "${sanitized_stress[@]}"

heading "fuzzers"
if scripts/setup.sh --fuzz; then
  build fuzz fuzzers && check "fuzzers ($fuzz_seconds s each)" scripts/fuzz.sh "$fuzz_seconds"
else
  echo "skipped: clang 16 with libFuzzer is not there and cannot be installed"
  note "fuzzers" 0 0 1
fi

heading "where the time went, by test programs (seconds of their cases, of which $at_once run at a time)"
python3 scripts/test_times.py "${reports[@]}"
if [[ $failed -gt 0 ]]; then
  heading "failed tests, and what they said"
  python3 scripts/failed_tests.py "${reports[@]}"
fi
heading "summary"
printf '%s\n' "${summary[@]}"
echo
line="$passed passed, $failed failed"
[[ $skipped -gt 0 ]] && line+=", $skipped skipped"
echo "$line"
[[ $failed -eq 0 ]]
