#include "recovery/segment_end.h"

#include <algorithm>
#include <memory>
#include <string>

#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

/// Returns the offset up to which the segment is on the device for certain; 0 if no ring says. All that a logger
/// drained is synced together, so the farthest of its rings' positions counts.
std::uint64_t synced_until(const SurvivingRings& rings, const SegmentName& name) {
  std::uint64_t until = 0;
  for (const auto& ring : rings.rings) {
    const log::Position position = ring->position();
    if (ring->header().logger == name.logger && position.sequence == name.sequence)
      until = std::max(until, position.offset);
  }
  return until;
}

const DroppedTail* tail_of(const LogScan& scan, const std::string& path) {
  const auto found = std::ranges::find(scan.tails, path, &DroppedTail::path);
  return found == scan.tails.end() ? nullptr : &*found;
}

/// Replaces the whole segment by its bytes up to the tail. This is needed only for a logger's last segment, and for the
/// name of the last segment in the previous one, because a segment is synced before the next one begins.
Status rewrite_whole(base::FileSystem& files, const std::string& path, const DroppedTail* tail) {
  auto bytes = base::read_file(files, path);
  if (!bytes.ok()) return bytes.status();
  if (tail != nullptr) bytes->resize(std::min<std::size_t>(bytes->size(), tail->offset));
  return base::replace_file(files, path, *bytes);
}

/// Writes the bytes from `begin` to `end` again, and zeros over all bytes after them that are not zero, in one go.
Status rewrite_from(base::FileSystem& files, const std::string& path, std::uint64_t begin, std::uint64_t end,
                    bool torn) {
  auto readable = files.open(path);
  if (!readable.ok()) return readable.status();
  const auto size = torn ? (*readable)->size() : Result<std::uint64_t>(end);
  if (!size.ok()) return size.status();
  std::string bytes(*size - begin, '\0');
  const auto got = (*readable)->read_at(begin, bytes);
  if (!got.ok()) return got.status();
  const std::size_t last = bytes.find_last_not_of('\0');
  bytes.resize(std::max<std::uint64_t>(end - begin, last == std::string::npos ? 0 : last + 1));
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(end - begin), bytes.end(), '\0');
  auto file = files.open_at(path, begin);
  if (!file.ok()) return file.status();
  if (const Status written = (*file)->append(bytes); !written.ok()) return written;
  return (*file)->sync();
}

}  // namespace

Status rewrite_end(base::FileSystem& files, const LogSurvey& survey, const LogSegment& segment, std::uint64_t end) {
  const DroppedTail* const tail = tail_of(survey.scan, segment.path);
  const std::uint64_t synced = synced_until(survey.rings, segment.name);
  if (base::injected("count-end-as-synced")) return {};
  const bool torn = tail != nullptr;
  const std::size_t known_faults = torn ? 1 : 0;  // the torn tail itself is one fault
  if (synced == 0 || synced > end || segment.faults.size() > known_faults)
    return rewrite_whole(files, segment.path, tail);
  return rewrite_from(files, segment.path, synced, end, torn);
}

}  // namespace granary::recovery
