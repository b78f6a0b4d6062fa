#!/usr/bin/env bash
# Formats all C++ files with clang-format 16. `--check` changes nothing and fails if a file is not formatted.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(-i)
[[ ${1:-} == --check ]] && mode=(--dry-run -Werror)
if ! command -v clang-format-16 > /dev/null; then
  echo "format.sh: clang-format-16 is missing; scripts/setup.sh --tools installs it" >&2
  exit 3
fi
find include src cluster_config htm rdma kvstore recovery bench tests examples \( -name '*.h' -o -name '*.cc' \) -print0 | xargs -0 -r clang-format-16 "${mode[@]}"
