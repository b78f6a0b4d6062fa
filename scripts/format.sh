#!/usr/bin/env bash
# Formats all C++ files with clang-format 16. `--check` changes nothing, names the files that are not formatted, and fails
# if there are any.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-format-16 > /dev/null; then
  echo "format.sh: clang-format-16 is missing; scripts/setup.sh --tools installs it" >&2
  exit 3
fi
mapfile -d '' files < <(find include src kvstore bench tests examples \( -name '*.h' -o -name '*.cc' \) -print0 | sort -z)
case ${1:-} in
  '') clang-format-16 -i "${files[@]}" ;;
  --check)
    bad=$(clang-format-16 --dry-run "${files[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:.*\[-Wclang-format-violations\]$/\1/p' | sort -u)
    [[ -z $bad ]] && exit 0
    echo "not formatted (scripts/format.sh mends it):"
    echo "$bad"
    exit 1
    ;;
  *) echo "format.sh: unknown argument '$1'; it takes --check or nothing" >&2; exit 2 ;;
esac
