#!/usr/bin/env bash
# Runs hosts_test.py with three hosts, each a network namespace with an sshd of its own at 10.99.0.1 to 10.99.0.3 and a bridge between them.
# The hosts share files and memory, as one machine does; only the way to them is by ssh. All of it ends with a namespace of processes.
#
#   hosts.sh    GRANARY names the program. The exit code is 3 if namespaces, sshd or ZooKeeper are not to be had.

set -euo pipefail

skip() { echo "skipped: $*"; exit 3; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1:-} != inside ]]; then
  [[ $EUID -eq 0 ]] || skip "sshd needs root"
  PATH=$PATH:/usr/sbin
  "$here/../../../scripts/setup.sh" --deploy >&2 || skip "the packages named above are needed"
  for each in sshd ssh ssh-keygen ip java; do
    command -v "$each" > /dev/null || skip "there is no $each: scripts/setup.sh --deploy brings it"
  done
  [[ -e /usr/share/java/zookeeper.jar ]] || skip "there is no ZooKeeper: scripts/setup.sh --deploy brings it"
  unshare --net true 2> /dev/null || skip "network namespaces are not permitted here"
  exec unshare --net --mount --fork --pid --mount-proc --kill-child env PATH="$PATH" "$0" inside
fi

work=$(mktemp -d --tmpdir granary-hosts.XXXXXX)
trap 'umount "$work"/network? 2> /dev/null; rm -rf "$work"' EXIT
mkdir -p /run/sshd
mount -t tmpfs none /run/sshd
chmod 755 /run/sshd
ip link set lo up
ip link add bridge type bridge || skip "no virtual interfaces here"
ip address add 10.99.0.254/24 dev bridge
ip link set bridge up
ssh-keygen -q -t ed25519 -N '' -f "$work/user"
chmod 700 "$work"

for host in 1 2 3; do
  unshare --net sleep 600 &
  other=$!
  until [[ $(readlink /proc/$other/ns/net) != "$(readlink /proc/$$/ns/net)" ]]; do sleep 0.01; done
  touch "$work/network$host"
  mount --bind "/proc/$other/ns/net" "$work/network$host"
  inside=(nsenter "--net=$work/network$host")
  ip link add "port$host" type veth peer name eth0 netns "$other"
  ip link set "port$host" master bridge up
  "${inside[@]}" ip link set lo up
  "${inside[@]}" ip address add "10.99.0.$host/24" dev eth0
  "${inside[@]}" ip link set eth0 up
  ssh-keygen -q -t ed25519 -N '' -f "$work/host$host"
  cat > "$work/sshd$host" << END
ListenAddress 10.99.0.$host:22
HostKey $work/host$host
AuthorizedKeysFile $work/user.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile $work/sshd$host.pid
END
  "${inside[@]}" /usr/sbin/sshd -f "$work/sshd$host" -E "$work/sshd$host.log"
done
cat > "$work/ssh_config" << END
Host *
  IdentityFile $work/user
  IdentitiesOnly yes
  UserKnownHostsFile $work/known_hosts
  GlobalKnownHostsFile /dev/null
END

HOSTS=$work "${PYTHON:-python3}" -B "$here/hosts_test.py"
