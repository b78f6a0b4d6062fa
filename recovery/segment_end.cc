#include "recovery/segment_end.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <granary/function_ref.h>

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

/// Reads a file in pieces, since a whole segment may not fit into the memory that is left.
class Pieces {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

  explicit Pieces(base::File& file) : file_(file), bytes_(kBytes, '\0') {}

  /// Calls visit(offset, bytes) for one piece after the other, up to the first error. A visitor may change the bytes.
  Status visit(std::uint64_t begin, std::uint64_t end, FunctionRef<Status(std::uint64_t, std::span<char>)> visit) {
    for (std::uint64_t at = begin; at < end;) {
      const auto got = file_.read_at(at, {bytes_.data(), std::min(kBytes, end - at)});
      if (!got.ok()) return got.status();
      if (*got == 0) return {StatusCode::kIoError, "a segment became shorter while its end was written again"};
      if (const Status visited = visit(at, {bytes_.data(), *got}); !visited.ok()) return visited;
      at += *got;
    }
    return {};
  }

 private:
  base::File& file_;
  std::string bytes_;
};

/// Replaces the whole segment by its bytes up to the tail. This is needed only for a logger's last segment, and for the
/// name of the last segment in the previous one, because a segment is synced before the next one begins.
Status rewrite_whole(base::FileSystem& files, const std::string& path, const DroppedTail* tail) {
  auto readable = files.open(path);
  if (!readable.ok()) return readable.status();
  const auto size = (*readable)->size();
  if (!size.ok()) return size.status();
  const std::uint64_t end = tail == nullptr ? *size : std::min(*size, tail->offset);
  return base::replace_file(files, path, [&](base::File& aside) {
    return Pieces(**readable).visit(0, end, [&](std::uint64_t, std::span<char> bytes) { return aside.append(bytes); });
  });
}

/// Returns where the last byte from `begin` on ends that is not zero; `begin` if there is none.
Result<std::uint64_t> end_of_bytes(base::File& file, std::uint64_t begin) {
  const auto size = file.size();
  if (!size.ok()) return size.status();
  std::uint64_t end = begin;
  const Status read = Pieces(file).visit(begin, *size, [&](std::uint64_t at, std::span<char> bytes) {
    const std::size_t last = std::string_view(bytes.data(), bytes.size()).find_last_not_of('\0');
    if (last != std::string_view::npos) end = at + last + 1;
    return Status();
  });
  return read.ok() ? Result<std::uint64_t>(end) : read;
}

/// Writes the bytes from `begin` to `end` again, and zeros over all bytes after them that are not zero, and then syncs
/// them together.
Status rewrite_from(base::FileSystem& files, const std::string& path, std::uint64_t begin, std::uint64_t end,
                    bool torn) {
  auto readable = files.open(path);
  if (!readable.ok()) return readable.status();
  const auto last = torn ? end_of_bytes(**readable, end) : Result<std::uint64_t>(end);
  if (!last.ok()) return last.status();
  auto file = files.open_at(path, begin);
  if (!file.ok()) return file.status();
  const Status written = Pieces(**readable).visit(begin, *last, [&](std::uint64_t at, std::span<char> bytes) {
    const std::uint64_t kept = std::min<std::uint64_t>(end - std::min(at, end), bytes.size());
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0');
    return (*file)->append(bytes);
  });
  return written.ok() ? (*file)->sync() : written;
}

}  // namespace

Status rewrite_end(base::FileSystem& files, const LogSurvey& survey, const LogSegment& segment, std::uint64_t end) {
  // It cannot be read as a whole, and the checkpoint of the salvage makes it needless.
  if (segment.unreadable) return {};
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
