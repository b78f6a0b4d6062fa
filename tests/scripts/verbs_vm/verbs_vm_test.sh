#!/usr/bin/env bash
# Tests what scripts/verbs_vm.sh promises, one case for each call. Not covered: how it behaves where packages cannot be fetched.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)

# run EXPECTED ARGUMENT...: calls the script, keeps what it prints in $output, and wants this exit code.
run() {
  local expected=$1 code
  shift
  output=$("$root/scripts/verbs_vm.sh" "$@" 2>&1)
  code=$?
  [[ $code -ne 3 || $expected -eq 3 ]] || { echo "$output"; echo "skipped"; exit 3; }
  [[ $code -eq $expected ]] || { echo "$output"; echo "exit code $code, not $expected: verbs_vm.sh $*"; exit 1; }
}
# This runs in the machine. The server may start later than the client, so the client asks again for a bounded time.
ping='ping_peer() {
  for attempt in $(seq 1000); do rping -c -a "$1" -C 1 -v && return; sleep 0.2; done
  return 1
}; '
expect() { grep -q -E -- "$1" <<< "$output" || { echo "$output"; echo "not in the output: $1"; exit 1; }; }

case $1 in
  usage)
    run 2
    expect '^usage: '
    run 2 --three true
    run 2 --seconds soon true
    ;;
  command)  # tests words and folder, exit code, both streams, and that the command cannot write the host's files
    here=$(mktemp -d)
    trap 'rm -rf "$here"' EXIT
    cd "$here" || exit 1
    run 7 sh -c 'echo "$0 $PWD" >&2; echo written > new; cat new; exit 7' $'two\nlines  "it\'s"'
    expect '^two$'
    expect "^lines  \"it's\" $here\$"
    expect '^written$'
    [[ ! -e $here/new ]] || { echo "the machine wrote a file of the host"; exit 1; }
    ;;
  device)
    run 0 sh -c "$ping"'ibv_devinfo -v -d rxe0; rping -s -C 1 & ping_peer $VM_ADDRESS'
    expect 'atomic_cap:.*ATOMIC_HCA'
    expect 'PORT_ACTIVE'
    expect '^ping data: rdma-ping-0'
    ;;
  two)  # tests that each has its own number and address, that a wire is between them, and the exit code
    run 5 --two sh -c "$ping"'echo at $VM_ADDRESS; if [ $VM = 0 ]; then rping -s -C 1; else ping_peer $VM_PEER && exit 5; fi'
    expect '^0\| at 10\.77\.0\.1$'
    expect '^1\| at 10\.77\.0\.2$'
    expect '^1\| ping data: rdma-ping-0'
    ;;
  one_fails)  # tests that the other machine does not wait until the time is up
    run 6 --two --seconds 300 sh -c '[ $VM = 1 ] || exit 6; sleep 1000'
    expect 'machine 1 is stopped, since the other one failed with exit code 6 20 s ago'
    ;;
  time_limit)
    for seconds in 15 60 240; do  # one of these times is enough for the machine to start
      run 124 --seconds "$seconds" sh -c 'echo begun; sleep 1000'
      expect "its $seconds seconds were up"
      ! grep -q '^begun$' <<< "$output" || exit 0
    done
    expect '^begun$'
    ;;
  *) echo "no such case: $1"; exit 1 ;;
esac
