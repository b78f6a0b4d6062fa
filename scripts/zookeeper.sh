#!/usr/bin/env bash
# Runs a ZooKeeper ensemble in a directory of its own, for tests and for trying a cluster on one machine. See docs/operations.md.
#
#   scripts/zookeeper.sh start DIR [--servers 1|3] [--tick MS] [--address ADDRESS] [--port PORT]
#   scripts/zookeeper.sh stop DIR      ends it; its data stays, and `start` goes on with it, at the same ports
#   scripts/zookeeper.sh status DIR    prints a line for each server; the exit code is 1 unless a majority serves
#
# `start` returns once all servers serve. The last line of its output is the list of servers, as clients want it. Servers listen
# only at ADDRESS, an IP address of this machine (default 127.0.0.1). Server N, counted from 0, has PORT + N (default: a free port).
# If there are three servers, each has two more ports for the others.
# Sessions time out after 2 to 20 ticks (a tick is 200 ms by default; with less, an ensemble of three is not stable).
#
# Exit codes: 1 the ensemble does not serve, 2 wrong usage, 3 there is no ZooKeeper to be had.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() { echo "usage: scripts/zookeeper.sh start DIR [--servers 1|3] [--tick MS] [--address ADDRESS] [--port PORT] | stop DIR | status DIR" >&2; exit 2; }

action=${1:-} dir=${2:-} servers=1 tick=200 address=127.0.0.1 port=
[[ $action =~ ^(start|stop|status)$ && -n $dir ]] || usage
shift 2
while [[ $# -gt 0 ]]; do
  [[ $action == start && -n ${2:-} ]] || usage
  case $1 in
    --servers) [[ $2 =~ ^[13]$ ]] || usage; servers=$2 ;;
    --tick) [[ $2 =~ ^[1-9][0-9]*$ ]] || usage; tick=$2 ;;
    --address) [[ $2 =~ ^[0-9]+(\.[0-9]+){3}$ ]] || usage; address=$2 ;;
    --port) [[ $2 =~ ^[1-9][0-9]*$ ]] || usage; port=$2 ;;
    *) usage ;;
  esac
  shift 2
done

# free_ports COUNT: prints on a line so many ports that nobody listens at.
free_ports() {
  python3 - "$1" "$address" << 'PYTHON'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for at in sockets:
    at.bind((sys.argv[2], 0))
print(*(at.getsockname()[1] for at in sockets))
PYTHON
}

# configure: writes the servers' configurations into DIR. An ensemble that was started before has them already.
configure() {
  local chosen peers='' list='' n
  if [[ -n $port ]]; then
    chosen=("$port")
    for ((n = 1; n < 3 * servers; ++n)); do chosen+=($((port + n))); done
  else
    read -r -a chosen <<< "$(free_ports $((3 * servers)))"
  fi
  if [[ $servers -gt 1 ]]; then
    for ((n = 0; n < servers; ++n)); do
      peers+="server.$((n + 1))=$address:${chosen[servers + 2 * n]}:${chosen[servers + 2 * n + 1]}"$'\n'
    done
  fi
  for ((n = 0; n < servers; ++n)); do
    list+="${list:+,}$address:${chosen[n]}"
    mkdir -p "$dir/$n/data"
    echo $((n + 1)) > "$dir/$n/data/myid"
    printf '%s\n' "tickTime=$tick" "dataDir=$dir/$n/data" "clientPortAddress=$address" "clientPort=${chosen[n]}" \
      "initLimit=50" "syncLimit=25" "maxClientCnxns=0" "4lw.commands.whitelist=srvr" "$peers" > "$dir/$n/zoo.cfg"
    printf '%s\n' "log4j.rootLogger=WARN, OUT" "log4j.appender.OUT=org.apache.log4j.ConsoleAppender" \
      "log4j.appender.OUT.layout=org.apache.log4j.PatternLayout" \
      "log4j.appender.OUT.layout.ConversionPattern=%d %p %c{1} %m%n" > "$dir/$n/log4j.properties"
  done
  echo "$list" > "$dir/servers"
}

# pid N: prints the process id of server N if it runs. An id that another process has now does not count.
pid() {
  local id
  id=$(cat "$dir/$1/pid" 2> /dev/null) || return 1
  grep -q -a -F "$dir/$1/zoo.cfg" "/proc/$id/cmdline" 2> /dev/null && echo "$id"
}

# mode N: prints "standalone", "leader" or "follower" if server N serves, and otherwise nothing.
mode() {
  local at
  at=$(cut -d , -f $(($1 + 1)) < "$dir/servers")
  { exec 9<> "/dev/tcp/${at/://}" && printf srvr >&9 && timeout 5 sed -n 's/^Mode: //p' <&9; } 2> /dev/null || true
}

each() { local n; for ((n = 0; n < $(tr , '\n' < "$dir/servers" | wc -l); ++n)); do "$@" "$n"; done; }

launch() {
  pid "$1" > /dev/null && return
  local jars=/usr/share/java
  setsid java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.admin.enableServer=false \
    -cp "$dir/$1:$jars/zookeeper.jar:$jars/slf4j-log4j12.jar:$jars/log4j-1.2.jar" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/$1/zoo.cfg" >> "$dir/$1/log" 2>&1 < /dev/null &
  echo $! > "$dir/$1/pid"
}

end() {
  local id turn
  id=$(pid "$1") || return 0
  kill -CONT "$id" 2> /dev/null || true
  kill "$id" 2> /dev/null || true
  for ((turn = 0; turn < 100; ++turn)); do
    pid "$1" > /dev/null || return 0
    sleep 0.05
  done
  kill -9 "$id" 2> /dev/null || true
}

show() {
  local serves id
  serves=$(mode "$1") id=$(pid "$1" || echo none)
  echo "server $1 at $(cut -d , -f $(($1 + 1)) < "$dir/servers"), process $id: ${serves:-does not serve}"
}

# majority: succeeds if more than half of the servers serve.
majority() { [[ $((2 * $(each show | grep -c -v 'does not serve'))) -gt $(tr , '\n' < "$dir/servers" | wc -l) ]]; }

case $action in
  start)
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    "$here/setup.sh" --zookeeper >&2 || { echo "zookeeper.sh: the packages named above are needed" >&2; exit 3; }
    [[ -e $dir/servers ]] || configure
    each launch
    rest=1  # tenths of a second; they grow, so that the looks leave the processor of a slow machine to the servers
    while [[ $SECONDS -lt 300 ]]; do
      if [[ -z $(each show | grep 'does not serve') ]]; then cat "$dir/servers"; exit 0; fi
      sleep "$((rest / 10)).$((rest % 10))"
      [[ $rest -ge 20 ]] || rest=$((rest * 5 / 4 + 1))
    done
    echo "zookeeper.sh: it does not serve after five minutes; the servers' output is in $dir/*/log" >&2
    each end
    exit 1 ;;
  stop)
    [[ -e $dir/servers ]] || exit 0
    dir=$(cd "$dir" && pwd)
    each end ;;
  status)
    [[ -e $dir/servers ]] || { echo "zookeeper.sh: no ensemble was ever started in '$dir'" >&2; exit 1; }
    dir=$(cd "$dir" && pwd)
    each show
    majority ;;
esac
