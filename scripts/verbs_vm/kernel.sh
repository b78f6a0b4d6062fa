#!/usr/bin/env bash
# Prints a folder with the kernel that scripts/verbs_vm.sh boots: `vmlinux`, and `modules/`, whose names have the order in
# which to load them. The folder is made once, from Debian's kernel package, which is fetched and unpacked but not installed.

set -euo pipefail

fail() { echo "kernel.sh: $*" >&2; exit 3; }

# Soft-RoCE computes its checksums with crc32_generic and does not say so.
modules=(virtio_pci virtio_console virtio_net 9p 9pnet_virtio overlay crc32_generic dummy rdma_rxe ib_uverbs rdma_ucm)

cache=${XDG_CACHE_HOME:-$HOME/.cache}/granary/verbs_vm
mkdir -p "$cache" || fail "cannot write $cache; set XDG_CACHE_HOME to a folder that can be written"
exec 9> "$cache/lock"
flock 9

ready() { find "$cache" -mindepth 2 -maxdepth 2 -name vmlinux -printf '%h\n' | sort -V | tail -n 1; }
found=$(ready)
if [[ -n $found ]]; then
  echo "$found"
  exit 0
fi

# linux-image-amd64 depends on the package of the present version. The *cloud* kernel has neither Soft-RoCE nor 9p.
package=$(apt-cache depends linux-image-amd64 2> /dev/null | awk '$1 == "Depends:" { print $2; exit }')
[[ -n $package ]] || fail "apt knows no linux-image-amd64; run apt-get update, with main of Debian 12 among the sources"
version=${package#linux-image-}

work=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -o APT::Sandbox::User=root "$package") > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "cannot fetch $package"; }
dpkg -x "$work"/*.deb "$work/root"
depmod -b "$work/root" "$version"

# The machine boots the plain kernel, which is the first XZ stream inside the compressed one, since it starts twice as fast.
image=$work/root/boot/vmlinuz-$version
offset=$(LC_ALL=C grep -aboP '\xfd7zXZ\x00' "$image" | awk -F : 'NR == 1 { print $1 }')
[[ -n $offset ]] || fail "$package holds no kernel compressed with xz"
mkdir -p "$work/done/modules"
unxz --single-stream < <(tail -c +$((offset + 1)) "$image") > "$work/done/vmlinux"
[[ $(head -c 4 "$work/done/vmlinux") == $'\x7fELF' ]] || fail "$package could not be unpacked"

number=100
for module in "${modules[@]}"; do
  while read -r _ path _; do
    compgen -G "$work/done/modules/*-${path##*/}" > /dev/null && continue
    cp "$path" "$work/done/modules/$number-${path##*/}"
    number=$((number + 1))
  done < <(modprobe -d "$work/root" -S "$version" --show-depends "$module" | grep '^insmod')
done

mv "$work/done" "$cache/$version"
ready
