// Log rings: whatever bytes the former process left, they are refused with a message, or what the ring holds can be
// walked. An input is one byte, a RingHeader and the ring's first bytes; zeros fill its pages. Bit 0 of the first byte:
// the header's checksum is put right first.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "recovery/entry_check.h"
#include "recovery/replay.h"
#include "src/base/check.h"
#include "src/log/ring.h"
#include "tests/fuzz/target.h"

namespace granary {
namespace {

using log::RingHeader;

/// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("ring", MFD_CLOEXEC)) {
    const ssize_t written = descriptor_ < 0 ? -1 : ::write(descriptor_, bytes.data(), bytes.size());
    base::always_check(written == static_cast<ssize_t>(bytes.size()), "there is memory for a ring");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

/// The header and the checksum that it should have.
void mend_checksum(std::string& ring) {
  alignas(RingHeader) char place[sizeof(RingHeader)];
  std::memcpy(place, ring.data(), sizeof place);
  auto& header = *reinterpret_cast<RingHeader*>(place);
  header.crc = header.compute_crc();
  std::memcpy(ring.data(), place, sizeof place);
}

/// The file that such a ring is in: a page for the header, and a power of two.
std::string ring_file(std::string_view input) {
  constexpr std::size_t kPage = 4096;
  std::string file(input.substr(0, sizeof(RingHeader)));
  file.resize(kPage);
  file += input.substr(std::min(input.size(), sizeof(RingHeader)));
  file.resize(kPage + std::bit_ceil(std::max(file.size() - kPage, kPage)));
  return file;
}

log::DatabaseId database_of(const std::string& ring) {
  log::DatabaseId id{};
  if (ring.size() >= sizeof(RingHeader))
    std::memcpy(id.data(), ring.data() + offsetof(RingHeader, database), id.size());
  return id;
}

/// What the ring holds: true if it is whole transactions and nothing else.
bool walk(std::string_view pending) {
  recovery::EntryList entries(pending);
  bool whole = true;
  for (recovery::Entry entry; entries.next(&entry);) {
    log::WriteReader writes(entry.body);
    for (log::Write write; writes.next(&write);) {
    }
    whole = whole && !writes.malformed();
  }
  base::always_check(entries.offset() <= pending.size(), "entries stay inside");
  const recovery::RingEntries ring{"ring", pending};
  base::always_check(recovery::greatest_epoch({&ring, 1}).ok() == (entries.fault() == nullptr),
                     "who looks for epochs finds the same");
  return whole && entries.fault() == nullptr;
}

}  // namespace

bool fuzz::read(std::string_view input) {
  if (input.empty()) return false;
  std::string bytes = ring_file(input.substr(1));
  if ((input[0] & 1) != 0) mend_checksum(bytes);
  const MemoryFile file(bytes);
  const auto ring = log::Ring::open(file.path(), database_of(bytes));
  if (ring.ok()) return walk((*ring)->pending());
  base::always_check(ring.status().message().find(file.path()) != std::string::npos, "a refusal names the file");
  return false;
}

}  // namespace granary
