#!/usr/bin/env bash
# Installs the packages in a root folder that has nothing but Debian 12's essential packages and apt, and runs what they hold: the
# command, the archive's command, and a program that is compiled there and links the shared library without any other library's
# development files. It downloads some 150 MB from the system's own package mirror.
#
#   tests/package/bare_machine.sh PACKAGES WORK
#
# It needs root, mmdebstrap (scripts/setup.sh --package) and the mirror; the exit code is 3 if one of them is missing. The empty root is
# kept in WORK/debian.tar and used again.

set -euo pipefail
packages=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
examples=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../examples")

skip() { echo "bare_machine.sh: skipped: $1" >&2; exit 3; }
[[ $EUID -eq 0 ]] || skip "this needs root"
command -v mmdebstrap > /dev/null || skip "there is no mmdebstrap (scripts/setup.sh --package)"

sources=/etc/apt/sources.list.d/debian.sources
[[ -f $sources ]] || sources=/etc/apt/sources.list
if [[ ! -f $work/debian.tar ]]; then
  mmdebstrap --variant=apt bookworm "$work/debian.tar.part" --format=tar "$sources" ||
    skip "no root folder could be made from the packages of $sources"
  mv "$work/debian.tar.part" "$work/debian.tar"
fi

# fresh NAME: makes a root folder of that name, with the packages in /packages.
fresh() {
  root=$work/$1
  rm -rf "$root"
  mkdir "$root"
  tar -xf "$work/debian.tar" -C "$root" --exclude=./dev
  mkdir -p "$root/dev" "$root/packages"
  cp "$packages"/* "$root/packages"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  echo "== $1"
}
# inside COMMAND: runs the command in the root folder, with mounts of its own that end with the command.
inside() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork bash -ec '
    mount -t tmpfs none "$1/dev"
    for device in null zero urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
    mkdir "$1/dev/shm" "$1/dev/pts"
    mount -t devpts none "$1/dev/pts" -o newinstance,ptmxmode=0666
    ln -s pts/ptmx "$1/dev/ptmx"
    mount -t tmpfs none "$1/dev/shm"
    mount -t proc none "$1/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$1" bash -ec "$2"' - "$root" "$1"
}
install='set -o pipefail; apt-get update -qq; apt-get install -qq -y --no-install-recommends'
run='granary --version; granary bench tpcc --seconds=1 --workers=1 --warehouses=1 --repeat=1 --memory_limit=1GiB --verify | grep -c holds'

fresh command
inside "$install /packages/granary_*.deb > /dev/null; $run; apt-get purge -qq -y granary > /dev/null; ! ls -d /usr/share/doc/granary"

fresh archive
inside "cd /opt; tar -xzf /packages/*.tar.gz; cd granary-*; $install \$(sed -n 's/^  apt-get install //p' INSTALL.txt) > /dev/null
        PATH=\$PWD/bin:\$PATH; $run"

fresh program
cp -r "$examples" "$root/examples"
inside "$install /packages/libgranary*.deb g++ cmake make pkg-config > /dev/null
        if dpkg -l | grep -E 'lib(fmt|uring|jemalloc|sodium|ibverbs|zstd|lz4)[a-z0-9]*-dev'; then echo 'a private library has its -dev package'; exit 1; fi
        cmake -S /examples -B /build > /dev/null; cmake --build /build --target bank > /dev/null; /build/bank
        g++ -std=c++20 /examples/bank.cc \$(pkg-config --cflags --libs granary) -o /bank; /bank; ldd /bank | grep granary"
rm -rf "$work"/{command,archive,program}
