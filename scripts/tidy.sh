#!/usr/bin/env bash
# Runs clang-tidy 16 on the sources in src, kvstore and bench, or on those that are named. It fails if there is a finding.
#
#   scripts/tidy.sh [FILE.cc ...]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-tidy-16 > /dev/null; then
  echo "tidy.sh: clang-tidy-16 is missing; scripts/setup.sh --tools installs it" >&2
  exit 3
fi
cmake --preset check > /dev/null
cmake --build --preset check --target granary_build_info > /dev/null
if [[ $# -eq 0 ]]; then
  mapfile -t files < <(find src kvstore bench -name '*.cc')
  set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-16 --quiet -p build/check
