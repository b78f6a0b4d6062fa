#!/usr/bin/env bash
# Runs the cases Ptp4l.* of clock_test against two ptp4l daemons in two network namespaces, joined by a pair of virtual
# interfaces. The daemons take software time stamps and run freely: they measure, and steer no clock. The exit code is 3 where
# that is not permitted, or without linuxptp.
#
#   between_namespaces.sh CLOCK_TEST

set -euo pipefail

skip() { echo "skipped: $*"; exit 3; }

test_program=$1
if [[ ${2:-} != inside ]]; then
  command -v ptp4l > /dev/null || PATH=$PATH:/usr/sbin
  command -v ptp4l > /dev/null && command -v ip > /dev/null || skip "there is no ptp4l, or no ip: scripts/setup.sh brings them"
  unshare --map-root-user --net true 2> /dev/null || skip "network namespaces are not permitted here"
  exec unshare --map-root-user --net --mount --fork --pid --mount-proc --kill-child env PATH="$PATH" "$0" "$test_program" inside
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT  # the daemons end with this namespace of processes

unshare --net sleep 60 &
other=$!
until [[ $(readlink /proc/$other/ns/net) != "$(readlink /proc/$$/ns/net)" ]]; do sleep 0.01; done
in_other=(nsenter --target "$other" --net)
ip link add v0 type veth peer name v1 netns "$other" || skip "no virtual interfaces here"
ip link set v0 up
"${in_other[@]}" ip link set v1 up

config() {
  cat << END
[global]
time_stamping software
network_transport L2
free_running 1
logSyncInterval -3
logMinDelayReqInterval -3
logAnnounceInterval -2
uds_address $work/$1
$2
END
}
config master 'priority1 10' > "$work/master.cfg"
config slave 'slaveOnly 1' > "$work/slave.cfg"
ptp4l -f "$work/master.cfg" -i v0 -m > "$work/master.log" &
"${in_other[@]}" ptp4l -f "$work/slave.cfg" -i v1 -m > "$work/slave.log" &
slave=$!

await() {  # await TEXT NAME: waits for the text in the log of that name
  for _ in {1..100}; do
    grep -q "$1" "$work/$2.log" && return
    sleep 0.1
  done
  echo "the $2 never said '$1':"
  cat "$work/$2.log"
  exit 1
}
await 'assuming the grand master role' master
await 'to UNCALIBRATED' slave

run() { "${@:3}" env GRANARY_PTP_SOCKET="$work/$1" GRANARY_PTP_GRANDMASTER="$identity" "$test_program" --gtest_filter="Ptp4l.$2"; }
mac=$(ip -o link show v0 | sed 's/.*ether \([0-9a-f:]*\).*/\1/; s/://g')
identity=${mac:0:6}.fffe.${mac:6:6}
run master TheGrandmasterHasABound
run slave ASlaveThatDoesNotSteerIsRefused "${in_other[@]}"
kill "$slave"
wait "$slave" || true
run slave ADeadOneIsRefused "${in_other[@]}"
