#pragma once
// Maps a region: one large range of memory with a fixed address, in 2 MiB pages where the system has them. Address
// space is reserved as a whole at the start. Pages are touched as extents are taken, or in advance on request
// (prefault_bytes). The fabric registers regions, and other processes can map a shared one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <granary/options.h>
#include <granary/status.h>

namespace granary::memory {

struct RegionOptions {
  std::uint64_t reserve_bytes = 0;  ///< address space; rounded up to 2 MiB
  HugePages huge_pages = HugePages::kTry;
  std::uint64_t prefault_bytes = 0;  ///< touched when the region is mapped, from its start
  int numa_node = -1;                ///< the node that the region is bound to; -1 = each page where it is first touched
  bool shared = false;               ///< whether it is a memory file, which other processes can map by fd()
};

/// Returns the command that allows transparent 2 MiB pages for regions. Shared regions have a switch of their own.
std::string transparent_pages_command(bool shared);

class Region {
 public:
  static Result<std::unique_ptr<Region>> map(const RegionOptions& options);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  char* base() const { return base_; }
  std::uint64_t size() const { return size_; }

  /// Cuts `bytes` (a multiple of 64 KiB) off the unused end. Returns nullptr when the region is full. Thread-safe.
  char* take(std::uint64_t bytes);
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// Returns the memory file of a shared region, size() long, or -1 if the region is private. The region keeps it open.
  int fd() const { return fd_; }

  /// Returns what kind of pages the region has: "2 MiB (hugetlb)", "2 MiB (transparent)" or "4 KiB".
  const std::string& page_kind() const { return page_kind_; }

 private:
  Region(char* base, std::uint64_t size, int fd, std::string page_kind)
      : base_(base),
        size_(size),
        fd_(fd),
        page_kind_(std::move(page_kind)) {}

  char* const base_;
  const std::uint64_t size_;
  const int fd_;
  const std::string page_kind_;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace granary::memory
