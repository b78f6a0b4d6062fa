#!/usr/bin/env bash
# Prints what the completion of the package in a folder offers: a line for each of some beginnings of a command line.
#
#   tests/package/completion_test.sh FOLDER

set -euo pipefail
PATH=$1/usr/bin:$PATH
# shellcheck source=packaging/completion.bash
source "$1/usr/share/bash-completion/completions/granary"

# offered WORD...: prints what is offered for the words, of which the last one is being typed.
offered() {
  COMP_WORDS=(granary "$@")
  COMP_CWORD=$#
  _granary
  echo "${COMPREPLY[*]} "
}
offered b
offered bench tpcc --ware
offered bench tp
offered figure silo
offered log ''
