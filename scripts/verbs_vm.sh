#!/usr/bin/env bash
# Runs a command in a small virtual machine that has RDMA devices (Soft-RoCE), on a host that has none. See docs/rdma.md.
#
#   scripts/verbs_vm.sh [--two] [--seconds N] COMMAND [ARGUMENT...]
#
# The machine sees the host's files read-only (what it writes goes into its memory), starts in the current directory, has
# the device rxe0, and lasts at most N seconds (default 900). Output and exit code are the command's. Exit code 124 means
# that the time was up (half a minute before, the machine prints where each task waits), 3 that there is no machine to be
# had (a package is missing, or the emulator failed).
#
# --two starts two machines with a network between them. Both run the command, and their output lines are marked "0| " and
# "1| ". The exit code is that of the first machine that fails; the other one has 20 s then before it is stopped. The
# command finds in its environment: VM (0 or 1), VM_ADDRESS (its own), VM_PEER (the other's; with one machine its own).
#
# The machine is emulated in software, so it needs no help of the processor; one boot takes a few seconds. The kernel is
# that of Debian's package, unpacked (not installed) below ${XDG_CACHE_HOME:-~/.cache}/granary, where it stays for the next
# time.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() { echo "usage: scripts/verbs_vm.sh [--two] [--seconds N] COMMAND [ARGUMENT...]" >&2; exit 2; }
lacking() { echo "verbs_vm.sh: $*" >&2; exit 3; }

machines=1 seconds=900
while [[ ${1:-} == --* ]]; do
  case $1 in
    --two) machines=2; shift ;;
    --seconds) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage; seconds=$2; shift 2 ;;
    *) usage ;;
  esac
done
[[ $# -gt 0 ]] || usage

"$here/setup.sh" --verbs >&2 || lacking "the packages named above are needed"
kernel=$("$here/verbs_vm/kernel.sh") || lacking "there is no kernel to boot"

job=$(mktemp -d --tmpdir granary-vm.XXXXXX)
pids=() timer='' grace=20
clean_up() {
  kill "${pids[@]}" $timer 2> /dev/null || true
  rm -rf "$job"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The guest reads its command over 9p. It is quoted by hand, as %q quotes for bash, and the guest has any sh.
quoted() { local word; for word in "$@"; do printf " '%s'" "${word//\'/\'\\\'\'}"; done; }
{ echo "cd$(quoted "$PWD") || exit 3"; echo "exec$(quoted "$@")"; } > "$job/command"

# The initial file system has busybox, the modules in the order of their names, and init.
mkdir -p "$job/initramfs/bin" "$job/initramfs/modules"
cp "$(command -v busybox)" "$job/initramfs/bin/busybox"
cp "$kernel"/modules/*.ko "$job/initramfs/modules/"
cp "$here/verbs_vm/init" "$job/initramfs/init"
(cd "$job/initramfs" && find . | cpio --quiet -o -H newc) > "$job/initramfs.cpio"

# counter_rate: prints the kernel's argument that tells how fast the guest's counter runs, which is the host's counter. The guest
# would measure that itself, but wrongly by up to 15 times where the host is busy meanwhile, and its clock would run as wrongly.
# Where the host's processors change their frequency, /proc/cpuinfo does not tell the counter's rate, and nothing is printed.
counter_rate() {
  [[ ! -e /sys/devices/system/cpu/cpu0/cpufreq ]] || return 0
  awk '$1 == "cpu" && $2 == "MHz" && $4 > 0 { printf "tsc_early_khz=%.0f", $4 * 1000; exit }' /proc/cpuinfo
}

# boot N: runs machine N until it powers itself off; its output goes to the pipe out.N, the exit code to the file code.N.
boot() {
  local n=$1 cpus=2 network=()
  if [[ $machines -eq 2 ]]; then
    cpus=1  # two guests share the host's cores
    network=(-netdev "dgram,id=net,local.type=unix,local.path=$job/net.$n,remote.type=unix,remote.path=$job/net.$((1 - n))"
             -device "virtio-net-pci,netdev=net,mac=52:54:00:77:00:0$((n + 1)),romfile=")
  fi
  # Without `rep movsb`, which the emulator does byte by byte, the guest's kernel copies whole words, as processors do.
  # no_timer_check: a guest that waits for the host's cores would take its timer for a broken one, and not start.
  exec timeout "$seconds" qemu-system-x86_64 \
    -accel tcg,thread=multi -cpu max,-erms,-fsrm -smp "$cpus" -m 2G -nodefaults -no-user-config -no-reboot -display none \
    -kernel "$kernel/vmlinux" -initrd "$job/initramfs.cpio" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable $(counter_rate) random.trust_cpu=on granary.job=$job granary.vm=$n granary.machines=$machines granary.seconds=$seconds" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -chardev "file,id=console,path=$job/console.$n" -serial chardev:console \
    -device virtio-serial-pci \
    -chardev "file,id=out,path=$job/out.$n" -device virtserialport,chardev=out,name=out \
    -chardev "file,id=code,path=$job/code.$n" -device virtserialport,chardev=code,name=code \
    "${network[@]}" < /dev/null > "$job/qemu.$n" 2>&1
}

mark() { if [[ $machines -eq 2 ]]; then sed -u "s/^/$1| /"; else cat; fi; }

readers=()
for ((n = 0; n < machines; ++n)); do
  mkfifo "$job/out.$n"
  mark "$n" < "$job/out.$n" &
  readers+=($!)
  boot "$n" &
  pids+=($!)
done

# judge N ENDED: leaves in $code what it means that machine N's emulator ended with the exit code ENDED: the command's exit
# code, 124 if the time was up, or 3 if the machine failed.
judge() {
  local n=$1 ended=$2
  wait "${readers[n]}" || true
  if [[ $ended -eq 124 ]]; then
    echo "verbs_vm.sh: machine $n was stopped: its $seconds seconds were up (--seconds sets them)" >&2
    code=124
    return
  fi
  code=
  read -r code < "$job/code.$n" 2> /dev/null || true
  if [[ ! $code =~ ^[0-9]+$ ]]; then
    echo "verbs_vm.sh: machine $n ended before the command did; its last words:" >&2
    tail -n 20 "$job/qemu.$n" "$job/console.$n" >&2 || true
    code=3
  fi
}

# When one machine has failed, the other one would wait for it until its time is up, and what it says then would hide the
# cause. So the other one is stopped.
result=0
while [[ ${#pids[@]} -gt 0 ]]; do
  ended=0
  wait -n -p gone "${pids[@]}" $timer || ended=$?
  if [[ $gone -eq ${timer:-0} ]]; then
    echo "verbs_vm.sh: machine ${!pids[*]} is stopped, since the other one failed with exit code $result $grace s ago" >&2
    break
  fi
  for n in "${!pids[@]}"; do
    [[ ${pids[n]} -eq $gone ]] || continue
    unset "pids[n]"
    judge "$n" "$ended"
  done
  if [[ $result -eq 0 && $code -ne 0 ]]; then
    result=$code
    sleep "$grace" & timer=$!
  fi
done
exit "$result"
