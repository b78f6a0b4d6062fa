#pragma once
// A region: one large range of memory with a fixed address, in 2 MiB pages where the system has them.
// Address space is reserved whole at the start; pages are touched as extents are taken, or up front on
// request (pre-fault). The fabric registers regions; a shared one can be mapped by other processes too.

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
  std::uint64_t prefault_bytes = 0;  ///< touched at once, from the start of the region
  int numa_node = -1;                ///< bind there; -1 = where first touched
  bool shared = false;               ///< a memory file, which other processes can map by fd()
};

/// The command that lets regions have transparent 2 MiB pages; shared ones have a switch of their own.
std::string transparent_pages_command(bool shared);

class Region {
 public:
  static Result<std::unique_ptr<Region>> map(const RegionOptions& options);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  char* base() const { return base_; }
  std::uint64_t size() const { return size_; }

  /// Cuts `bytes` (a multiple of 64 KiB) off the unused end; nullptr when the region is full. Thread-safe.
  char* take(std::uint64_t bytes);
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// The memory file behind a shared region, size() long; -1 if it is private. Stays the region's own.
  int fd() const { return fd_; }

  /// "2 MiB (hugetlb)", "2 MiB (transparent)" or "4 KiB": what backs the region.
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
