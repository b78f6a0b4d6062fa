#pragma once
// Reads stretches of the log transaction by transaction, to replay them or to look for some of their transactions. It
// is safe on any bytes (I26): a transaction is handed on only after its checksum was checked, or the checksum of the
// packed entry that holds it.
//
// A visitor has these functions. Each of them may end the reading with an error.
//
//   Status on_transaction(std::uint64_t offset, const Entry& entry)
//   Status on_packed_end()     the memory of the packed entry that was visited last is about to be used again
//   Status on_fault(std::uint64_t offset, const char* cause)     returns the error for bytes that are not what was
//                                                                written

#include <cstdint>
#include <optional>

#include <granary/status.h>

#include "recovery/entry_check.h"
#include "recovery/log_scan.h"
#include "src/base/file.h"

namespace granary::recovery {

/// Visits the transactions of a list. `offset` is the offset of the packed entry that holds them; none for a ring,
/// whose offsets are its own.
template <typename Visitor>
Status visit_list(EntryList entries, std::optional<std::uint64_t> offset, Visitor& visitor) {
  Entry entry;
  for (;;) {
    const std::uint64_t at = offset.value_or(entries.offset());
    if (!entries.next(&entry)) return entries.fault() == nullptr ? Status() : visitor.on_fault(at, entries.fault());
    if (const Status status = visitor.on_transaction(at, entry); !status.ok()) return status;
  }
}

/// Reads one chunk after the other. Entries that a visitor gets point into this reader's memory, until the next chunk.
class ChunkReader {
 public:
  explicit ChunkReader(base::FileSystem& files) : files_(files) {}

  template <typename Visitor>
  Status visit(const LogSegment& segment, const Chunk& chunk, Visitor& visitor) {
    auto file = files_.open(segment.path);
    if (!file.ok()) return file.status();
    const std::uint64_t bytes = chunk.end - chunk.begin;
    const Status loaded = segment.unreadable ? bytes_.load_readable(**file, segment.path, chunk.begin, bytes).status()
                                             : bytes_.load(**file, segment.path, chunk.begin, bytes);
    if (!loaded.ok()) return loaded;
    Entry entry;
    for (std::size_t at = 0; at < bytes; at += entry.header.bytes()) {
      const std::uint64_t offset = chunk.begin + at;
      const char* cause = "the file is shorter than it was";
      if (at < bytes_.view().size()) cause = check_entry(bytes_.view(), at, segment.crc, &entry);
      if (cause != nullptr) return visitor.on_fault(offset, cause);
      Status status;
      if (entry.header.kind() == log::EntryKind::kTransaction) status = visitor.on_transaction(offset, entry);
      if (entry.header.kind() == log::EntryKind::kPacked) status = visit_packed(offset, entry, visitor);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  template <typename Visitor>
  Status visit_packed(std::uint64_t offset, const Entry& entry, Visitor& visitor) {
    std::string_view content;
    if (const char* const cause = unpacker_.unpack(entry.body, &content)) return visitor.on_fault(offset, cause);
    const Status status = visit_list(EntryList(content), offset, visitor);
    return status.ok() ? visitor.on_packed_end() : status;
  }

  base::FileSystem& files_;
  FileBytes bytes_;
  Unpacker unpacker_;
};

}  // namespace granary::recovery
