#!/usr/bin/env bash
# Runs real_systemd_test.py where systemd is the first process: in namespaces of its own, on an overlay of this machine's files that is
# gone afterwards, with Debian's units and none of this machine's own.
#
#   real_systemd.sh    GRANARY names the program. The exit code is 3 if namespaces, overlays, cgroups or systemd are not to be had.

set -euo pipefail

skip() { echo "skipped: $*"; exit 3; }

self=$(realpath "$0")
here=$(dirname "$self")
case ${1:-} in
  '')
    [[ $EUID -eq 0 ]] || skip "systemd needs root"
    "$here/../../../scripts/setup.sh" --deploy >&2 || skip "the packages named above are needed"
    work=$(mktemp -d --tmpdir granary-systemd.XXXXXX)
    cgroup=
    clean_up() {
      if [[ -d $cgroup ]]; then
        echo 1 > "$cgroup/cgroup.kill" || true
        for ((tries = 0; tries < 100; ++tries)); do
          find "$cgroup" -depth -type d -exec rmdir {} + 2> /dev/null && break
          sleep 0.1
        done
      fi
      umount "$work/cgroup" 2> /dev/null || true
      rm -rf "$work"
    }
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    mkdir "$work/cgroup"
    unshare --mount true 2> /dev/null || skip "mount namespaces are not permitted here"
    mount -t cgroup2 none "$work/cgroup" 2> /dev/null || skip "there are no cgroups of version 2 here"
    cgroup=$work/cgroup/$(basename "$work")
    mkdir "$cgroup" 2> /dev/null || skip "cgroups cannot be made here"
    (echo "$BASHPID" > "$cgroup/cgroup.procs"
     exec unshare --cgroup --mount --net --pid --uts --ipc --fork --kill-child "$self" first "$work") &
    code=0
    wait $! || code=$?
    [[ ! -e $work/out/out ]] || cat "$work/out/out"
    exit "$code" ;;
  first)  # this process becomes systemd
    work=$2
    mkdir "$work"/{layer,out,root}
    mount -t tmpfs none "$work/layer"
    mkdir "$work"/layer/{files,work}
    mount -t overlay -o "lowerdir=/,upperdir=$work/layer/files,workdir=$work/layer/work" none "$work/root" || skip "no overlays here"
    cd "$work/root"
        mount -t tmpfs -o mode=755 none ./dev
    mkdir ./dev/{shm,pts}
    for device in null zero full random urandom; do touch "./dev/$device"; mount --bind "/dev/$device" "./dev/$device"; done
    mount -t devpts -o newinstance none ./dev/pts
    mount -t tmpfs none ./dev/shm
    mount -t proc none ./proc
    mount --bind -o ro ./proc/sys ./proc/sys  # the settings of the machine's kernel are not systemd's to change
    mount -t sysfs -o ro none ./sys
    mount -t cgroup2 none ./sys/fs/cgroup
    for each in run etc/systemd/system var/log tmp; do mount -t tmpfs none "./$each"; done
    chmod 1777 ./tmp ./dev/shm
    mkdir -p ./etc/systemd/system/default.target.wants
    # These units would look through all files, or are about devices, so they are masked.
    for unit in systemd-tmpfiles-{setup,setup-dev,clean} systemd-sysusers systemd-udevd systemd-udev-trigger console-getty; do
      ln -s /dev/null "./etc/systemd/system/$unit.service"
    done
    ln -s /lib/systemd/system/multi-user.target ./etc/systemd/system/default.target
    cat > ./etc/systemd/system/trial.service << END
[Unit]
After=multi-user.target
[Service]
Type=oneshot
Environment=GRANARY=$GRANARY PYTHON=${PYTHON:-python3} PATH=$PATH HOME=/root TIMES=1
ExecStart=/bin/bash -c '"\$PYTHON" -B $here/real_systemd_test.py > /srv/out 2>&1; systemctl exit \$?'
TimeoutStartSec=infinity
END
    ln -s ../trial.service ./etc/systemd/system/default.target.wants
    mount --bind "$work/out" ./srv
    mkdir ./run/host
    pivot_root . ./run/host
    exec env -i container=trial /lib/systemd/systemd --log-target=journal ;;
esac
