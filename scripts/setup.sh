#!/usr/bin/env bash
# Installs what Granary needs on Debian 12, as root or with sudo. It says nothing and is quick when all is there.
#
#   scripts/setup.sh [--tools | --fuzz | --verbs | --zookeeper | --deploy | --package | --watch]
#
# Each flag installs something more:
#   --tools      clang-format and clang-tidy 16, for scripts/format.sh and scripts/tidy.sh
#   --fuzz       clang 16 with libFuzzer, for scripts/fuzz.sh
#   --verbs      an emulator and RDMA tools, for scripts/verbs_vm.sh
#   --zookeeper  a ZooKeeper server, for scripts/zookeeper.sh
#   --deploy     an ssh client and server, systemd's checks and a ZooKeeper server, for the tests of scripts/cluster.sh
#   --package    what builds and tests packages (the target `package`, tests/package)
#   --watch      promtool and a browser, for tests/watch

set -euo pipefail

packages=(g++ cmake ninja-build ccache mold git ca-certificates python3 python3-matplotlib
          libgtest-dev libgmock-dev libgflags-dev libfmt-dev nlohmann-json3-dev libjemalloc-dev
          liblz4-dev libzstd-dev libxxhash-dev liburing-dev libboost-dev libboost-context-dev libibverbs-dev
          librdmacm-dev libtomlplusplus-dev libsodium-dev libzookeeper-mt-dev spin linuxptp iproute2)
case ${1:-} in
  '') ;;
  --tools) packages+=(clang-format-16 clang-tidy-16) ;;
  --fuzz) packages+=(clang-16 libclang-rt-16-dev) ;;
  --verbs) packages+=(qemu-system-x86 busybox-static cpio kmod xz-utils iproute2
                      rdma-core ibverbs-providers ibverbs-utils perftest rdmacm-utils) ;;
  --zookeeper) packages+=(zookeeper) ;;
  --deploy) packages+=(openssh-client openssh-server systemd zookeeper) ;;
  --package) packages+=(dpkg-dev file pkg-config lintian mmdebstrap) ;;
  --watch) packages+=(prometheus chromium fonts-dejavu-core) ;;
  *)
    echo "setup.sh: unknown argument '$1'; it takes --tools, --fuzz, --verbs, --zookeeper, --deploy, --package, --watch or nothing" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query > /dev/null; then
  echo "setup.sh: this is no Debian system; install the equivalents of: ${packages[*]}" >&2
  exit 3
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || true)
  [[ $status == 'install ok installed' ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo > /dev/null; then
    echo "setup.sh: missing packages: ${missing[*]}; run this as root, or install sudo" >&2
    exit 3
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" > "$log" 2>&1 < /dev/null; then
    cat "$log" >&2
    echo "setup.sh: failed: $*" >&2
    exit 3
  fi
}
if [[ ${1:-} == --watch ]] && command -v systemctl > /dev/null; then
  # promtool comes with a Prometheus server that Debian would start. Nothing here needs the server, so it is masked.
  "${as_root[@]}" systemctl mask prometheus.service > /dev/null 2>&1 || true
fi
quietly apt-get update
quietly apt-get install -y --no-install-recommends "${missing[@]}"
