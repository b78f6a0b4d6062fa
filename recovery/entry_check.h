#pragma once
// Reads entries of the log: whether the bytes are an entry, and what it holds. It is safe on any bytes (I26): it
// touches nothing outside of the given bytes, and believes nothing before it was checked.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "src/log/format.h"

struct ZSTD_DCtx_s;

namespace granary::recovery {

/// One entry. `body` points into the bytes where the entry was found.
struct Entry {
  log::EntryHeader header{};
  std::string_view body;
};

/// Reads and checks the entry that stands at `at` in a segment. Returns nullptr, or what is wrong with it.
const char* check_entry(std::string_view segment, std::size_t at, std::uint32_t segment_crc, Entry* entry);
/// Returns the marker of an entry that has been checked. A former release may have written it.
log::Marker marker_in(std::string_view body);

/// Says why nothing can be recovered from a log whose transactions have no writes.
inline constexpr const char* kWithoutWrites =
    "a transaction without what it wrote, as they are logged with Options::small_log_records; nothing can be recovered "
    "from such a log";

/// Walks entries without checksums, one after the other, in a ring or in a packed entry.
class EntryList {
 public:
  explicit EntryList(std::string_view bytes = {}) : bytes_(bytes) {}
  /// Goes on to the next transaction. Returns false at the end, or where the bytes are no transaction, which fault()
  /// then tells.
  bool next(Entry* entry);
  std::size_t offset() const { return at_; }  ///< the offset of the next entry, or of the fault
  bool empty() const { return at_ == bytes_.size(); }
  const char* fault() const { return fault_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  const char* fault_ = nullptr;
};

/// Unpacks packed entries, one after the other, into the same memory.
class Unpacker {
 public:
  /// Unpacks the body of a packed entry, which is valid until the next call. Returns nullptr, or what is wrong with it.
  /// Throws std::bad_alloc if there is no memory for the content. That is no fault of the entry: a scan that took it
  /// for one would cut released transactions off.
  const char* unpack(std::string_view body, std::string_view* content);

 private:
  struct FreeZstd {
    void operator()(ZSTD_DCtx_s* zstd) const;
  };
  bool unpack_zstd(std::string_view body, std::size_t bytes);

  std::unique_ptr<ZSTD_DCtx_s, FreeZstd> zstd_;  ///< made for the first zstd entry
  std::unique_ptr<char[]> buffer_;
  std::size_t room_ = 0;
};

}  // namespace granary::recovery
