#!/usr/bin/env bash
# Runs two_machines_test.py on two hosts that share nothing: virtual machines with Soft-RoCE, an sshd on each, at 10.77.0.1 and 10.77.0.2.
# The first one has ZooKeeper, and gives the commands.
#
#   two_machines.sh    GRANARY names the program. The exit code is 3 if there are no machines, sshd or ZooKeeper to be had.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$(cd "$here/../../../scripts" && pwd)

if [[ -z ${VM:-} ]]; then  # this is the host, which makes what both machines read
  PATH=$PATH:/usr/sbin
  "$scripts/setup.sh" --deploy >&2 || { echo "skipped: the packages named above are needed"; exit 3; }
  work=$(mktemp -d --tmpdir granary-machines.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  for key in user host; do ssh-keygen -q -t ed25519 -N '' -f "$work/$key"; done
  package=$(cd "$here" && "${PYTHON:-python3}" -B -c "import pathlib, rig; print(rig.make_package(pathlib.Path('$work')))")
  "$scripts/verbs_vm.sh" --two --seconds 1500 "$(realpath "$0")" "$work" "$package" "$GRANARY" "${PYTHON:-python3}"
  exit
fi

work=$1
export PACKAGE=$2 GRANARY=$3 PYTHON=$4
mkdir -p /run/sshd /tmp/machine
cp "$work"/{user,host} /tmp/machine  # ssh wants key files that only its user can read
chmod 600 /tmp/machine/*
cat > /tmp/machine/sshd << END
ListenAddress $VM_ADDRESS:22
HostKey /tmp/machine/host
AuthorizedKeysFile $work/user.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile /tmp/machine/sshd.pid
LoginGraceTime 300
END
/usr/sbin/sshd -f /tmp/machine/sshd -E /tmp/machine/sshd.log
cat > /tmp/machine/ssh_config << END
Host *
  IdentityFile /tmp/machine/user
  IdentitiesOnly yes
  UserKnownHostsFile /tmp/machine/known_hosts
  GlobalKnownHostsFile /dev/null
END

if [[ $VM -eq 1 ]]; then
  until [[ -e /tmp/machine/over ]]; do sleep 1; done
  exit 0
fi
code=0
TIMES=1 "$PYTHON" -B "$here/two_machines_test.py" || code=$?
ssh -F /tmp/machine/ssh_config "$VM_PEER" touch /tmp/machine/over
exit "$code"
