#include "src/memory/region.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <granary/limits.h>

#include "src/memory/address_space.h"

namespace granary::memory {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Returns how many reserved 2 MiB pages are free on this NUMA node, or on all nodes if it is -1; 0 where there are
/// none. The kernel's reservation belongs to no particular node, so free pages of other nodes are of no use for a
/// region that is bound to one. Nor does the reservation keep two regions that are bound to the same node from the same
/// pages: a node to which several regions are bound needs reserved pages for all of them.
std::uint64_t free_reserved_pages(int numa_node) {
  const std::string where = numa_node < 0 ? "kernel/mm" : fmt::format("devices/system/node/node{}", numa_node);
  std::ifstream file(fmt::format("/sys/{}/hugepages/hugepages-2048kB/free_hugepages", where));
  std::uint64_t pages = 0;
  return file >> pages ? pages : 0;
}

const char* transparent_pages_file(bool shared) {
  return shared ? "/sys/kernel/mm/transparent_hugepage/shmem_enabled" : "/sys/kernel/mm/transparent_hugepage/enabled";
}

bool transparent_pages_allowed(bool shared) {
  std::ifstream file(transparent_pages_file(shared));
  std::string text;
  std::getline(file, text);
  return !text.empty() && text.find("[never]") == std::string::npos && text.find("[deny]") == std::string::npos;
}

void* map_private(std::uint64_t bytes, int flags) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

/// The memory of a region, and its file if it is shared. base is nullptr if there is no memory.
struct Backing {
  char* base = nullptr;
  int fd = -1;
};

/// Maps a new memory file at `at`, or anywhere if that is nullptr.
Backing map_file(void* at, std::uint64_t bytes, unsigned file_flags, int map_flags) {
  const int fd = ::memfd_create("granary-region", MFD_CLOEXEC | MFD_ALLOW_SEALING | file_flags);
  if (fd < 0) return {};
  // The file is sealed against shrinking, so a peer that maps it need not fear that pages vanish from its mapping.
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    const int placed = at == nullptr ? 0 : MAP_FIXED;
    void* base = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | map_flags | placed, fd, 0);
    if (base != MAP_FAILED) return {static_cast<char*>(base), fd};
  }
  ::close(fd);
  return {};
}

/// Maps reserved pages. The kernel sets all of them aside for the mapping, or refuses it. With MAP_NORESERVE it would
/// set none aside, and the process would end by SIGBUS when it touches a page that others have taken meanwhile.
Backing back_with_reserved_pages(std::uint64_t bytes, bool shared) {
  // The size has to be named: a machine's default may be 1 GiB, and free_reserved_pages() counts pages of 2 MiB.
  constexpr unsigned kOf2MiB = 21u << MAP_HUGE_SHIFT;
  static_assert(kHugePage == 1u << 21 && MFD_HUGE_SHIFT == MAP_HUGE_SHIFT);
  if (shared) return map_file(nullptr, bytes, MFD_HUGETLB | kOf2MiB, 0);
  return {.base = static_cast<char*>(map_private(bytes, MAP_HUGETLB | static_cast<int>(kOf2MiB)))};
}

Backing back_with_ordinary_pages(std::uint64_t bytes, bool shared) {
  char* base = reserve_aligned(bytes);
  if (base == nullptr || !shared) return {.base = base};
  const Backing backing = map_file(base, bytes, 0, MAP_NORESERVE);
  if (backing.base == nullptr) ::munmap(base, bytes);
  return backing;
}

/// Binds the range to a NUMA node. Returns false if the kernel refuses.
bool bind_to_node(void* base, std::uint64_t bytes, int node) {
  constexpr int kBind = 2;  // MPOL_BIND
  static_assert(kMaxNumaNode < 64);
  const unsigned long mask = 1ul << node;
  // The kernel looks at one bit less than the caller says (get_nodes() in mm/mempolicy.c).
  constexpr unsigned long kBits = sizeof(mask) * 8 + 1;
  return ::syscall(SYS_mbind, base, bytes, kBind, &mask, kBits, 0) == 0;
}

}  // namespace

std::string transparent_pages_command(bool shared) {
  return fmt::format("echo {} > {}", shared ? "advise" : "madvise", transparent_pages_file(shared));
}

Result<std::unique_ptr<Region>> Region::map(const RegionOptions& options) {
  const std::uint64_t bytes = round_up(options.reserve_bytes, kHugePage);
  Backing backing;
  std::string kind = "4 KiB";
  if (options.huge_pages != HugePages::kOff && free_reserved_pages(options.numa_node) * kHugePage >= bytes) {
    backing = back_with_reserved_pages(bytes, options.shared);
    if (backing.base != nullptr) kind = "2 MiB (hugetlb)";
  }
  if (backing.base == nullptr) {
    backing = back_with_ordinary_pages(bytes, options.shared);
    if (backing.base == nullptr) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("cannot reserve {} MiB of address space: {} (is there a 'ulimit -v'?)", bytes >> 20,
                                std::strerror(errno)));
    }
    if (options.huge_pages != HugePages::kOff && transparent_pages_allowed(options.shared) &&
        ::madvise(backing.base, bytes, MADV_HUGEPAGE) == 0) {
      kind = "2 MiB (transparent)";
    }
  }
  char* const base = backing.base;
  std::unique_ptr<Region> region(new Region(base, bytes, backing.fd, kind));
  if (kind == "4 KiB" && options.huge_pages == HugePages::kRequire) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("huge_pages=require, but there are no 2 MiB pages: run 'sysctl vm.nr_hugepages={}', or enable "
                    "transparent ones ('{}')",
                    bytes / kHugePage, transparent_pages_command(options.shared)));
  }
  if (options.numa_node > kMaxNumaNode) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("cannot place memory on NUMA node {}: only nodes 0 to {} are supported",
                              options.numa_node, kMaxNumaNode));
  }
  if (options.numa_node >= 0 && !bind_to_node(base, bytes, options.numa_node)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("cannot place memory on NUMA node {}: {}", options.numa_node, std::strerror(errno)));
  }
  const std::uint64_t touched = std::min(options.prefault_bytes, bytes);
  for (std::uint64_t at = 0; at < touched; at += 4096) base[at] = 0;
  return region;
}

Region::~Region() {
  ::munmap(base_, size_);
  if (fd_ >= 0) ::close(fd_);
}

char* Region::take(std::uint64_t bytes) {
  // Relaxed: the range carries no data yet. A thread that publishes blocks of it orders their contents.
  std::uint64_t at = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > size_ - at) return nullptr;
  } while (!used_.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed));
  return base_ + at;
}

}  // namespace granary::memory
