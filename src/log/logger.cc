#include "src/log/logger.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/record/tid.h"

namespace granary::log {
namespace {

/// Entries are gathered up to this size before they are appended: what stays in the nearest caches.
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
/// A ring is drained before the epoch is complete once this share of it is full.
constexpr std::uint64_t kFullShare = 4;

void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

EntryHeader header_at(const char* entry) {
  EntryHeader header;
  std::memcpy(&header, entry, sizeof header);
  return header;
}

}  // namespace

Logger::Logger(LoggerOptions options, const epoch::EpochManager& epochs, DurableEpoch& durable)
    : options_(std::move(options)),
      space_({options_.files, options_.directory, options_.identity.logger, options_.segment_bytes, options_.spares}),
      epochs_(epochs),
      durable_(durable),
      newest_(durable.current()),
      marked_(durable.current()),
      marked_in_log_(durable.current()) {
  buffer_.reserve(2 * kBufferBytes);
  if (options_.codec) compressor_.emplace(*options_.codec);
}

Status Logger::open(std::span<const std::string_view> adopted) {
  const Status reserved = space_.replenish();
  return reserved.ok() ? begin_segment(adopted) : reserved;
}

void Logger::add_ring(Ring* ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
}

Status Logger::begin_segment(std::span<const std::string_view> adopted) {
  SegmentHeader header = options_.identity;
  header.sequence = next_sequence_++;
  header.seal();
  segment_path_ = options_.directory + "/" + segment_name(header.generation, header.logger, header.sequence);
  auto file = space_.take(segment_path_);
  if (!file.ok()) return file.status();
  segment_ = std::move(*file);
  segment_crc_ = header.crc;
  segment_bytes_ = 0;
  last_epoch_ = 0;
  const char* const bytes = reinterpret_cast<const char*>(&header);
  buffer_.insert(buffer_.end(), bytes, bytes + sizeof header);
  for (const std::string_view entries : adopted) {
    if (const Status taken = take(entries, nullptr); !taken.ok()) return taken;
  }
  // Each segment says by itself how far the logger has come, as the earlier ones with their markers may be removed.
  add_marker(marked_);
  if (const Status done = write_out(); !done.ok()) return done;
  if (const Status done = segment_->sync(); !done.ok()) return done;
  if (base::injected(base::Bug::kSkipDirectorySync)) return {};
  return options_.files->sync_directory(options_.directory);
}

bool Logger::step(bool urgent) {
  if (durable_.failed()) return false;
  // What is drained below includes every transaction up to here: asked before the tails are looked at.
  const bool moved_on = epochs_.current() > marked_ + 1 || epochs_.ended();
  const epoch::Epoch complete = moved_on ? epochs_.complete() : marked_;
  const std::uint64_t before = counters_.bytes.load(std::memory_order_relaxed);
  const Status done = turn(complete, urgent);
  if (!done.ok()) durable_.fail(done);
  return counters_.bytes.load(std::memory_order_relaxed) != before;
}

Status Logger::turn(epoch::Epoch complete, bool urgent) {
  std::unique_lock lock(mutex_);
  const std::vector<Ring*> rings = rings_;
  lock.unlock();
  const bool all = complete > marked_ || urgent;
  for (Ring* const ring : rings) {
    const std::string_view pending = ring->pending();
    if (!all && pending.size() < ring->capacity() / kFullShare) continue;
    if (const Status done = take(pending, ring); !done.ok()) return done;
  }
  return complete > marked_ ? finish_epoch(complete) : flush();
}

/// Appends whole entries to the segment, a buffer at a time. The ring, if they are one's, keeps them until they are in the
/// file, where they survive the process as they did in the ring.
Status Logger::take(std::string_view pending, Ring* ring) {
  std::size_t at = 0;
  while (at < pending.size()) {
    const std::size_t from = at;
    while (at < pending.size() && at - from < kBufferBytes) {
      const EntryHeader header = header_at(pending.data() + at);
      base::always_check(header.kind() == EntryKind::kTransaction && header.bytes() <= pending.size() - at,
                         "a ring holds whole transactions up to its tail");
      last_epoch_ = std::max(last_epoch_, record::epoch_of(header.tid()));
      newest_ = std::max(newest_, last_epoch_);
      if (!options_.codec) add_entry(pending.data() + at, header);
      bump(counters_.entries, 1);
      at += header.bytes();
    }
    if (options_.codec) pack(pending.substr(from, at - from));
    if (const Status done = write_out(); !done.ok()) return done;
    if (ring != nullptr) taken_.push_back({ring, at - from, segment_bytes_});
    give_room();
  }
  return {};
}

/// Lets go of what is in the file by now.
void Logger::give_room() {
  const auto kept = std::find_if(taken_.begin(), taken_.end(),
                                 [flushed = segment_->flushed()](const Taken& taken) { return taken.end > flushed; });
  for (auto taken = taken_.begin(); taken != kept; ++taken) {
    base::sync_point("logger.appended");
    taken->ring->consume(taken->bytes);
    base::sync_point("logger.consumed");
  }
  taken_.erase(taken_.begin(), kept);
}

Status Logger::flush() {
  if (taken_.empty()) return {};
  if (const Status done = segment_->flush(); !done.ok()) return done;
  give_room();
  return {};
}

void Logger::add_entry(const char* entry, const EntryHeader& header) {
  const std::size_t at = buffer_.size();
  buffer_.insert(buffer_.end(), entry, entry + header.bytes());
  const std::uint32_t crc = entry_crc(segment_crc_, entry, header.body_bytes);
  std::memcpy(buffer_.data() + at + offsetof(EntryHeader, crc), &crc, sizeof crc);
}

void Logger::pack(std::string_view entries) {
  const PackedHeader packed{compressor_->codec(), static_cast<std::uint32_t>(entries.size())};
  constexpr std::size_t kBefore = sizeof(EntryHeader) + sizeof packed;
  std::vector<char> entry(kBefore + compressor_->bound(entries.size()));
  const std::size_t bytes = compressor_->pack(entries, entry.data() + kBefore, entry.size() - kBefore);
  const EntryHeader header{static_cast<std::uint32_t>(sizeof packed + bytes), 0,
                           static_cast<std::uint64_t>(EntryKind::kPacked)};
  std::memcpy(entry.data(), &header, sizeof header);
  std::memcpy(entry.data() + sizeof header, &packed, sizeof packed);
  entry.resize(header.bytes(), '\0');
  std::fill(entry.begin() + static_cast<std::ptrdiff_t>(sizeof header + header.body_bytes), entry.end(), '\0');
  add_entry(entry.data(), header);
}

Status Logger::write_out() {
  if (buffer_.empty()) return {};
  const Status done = segment_->append(buffer_);
  segment_bytes_ += buffer_.size();
  bump(counters_.bytes, buffer_.size());
  buffer_.clear();
  return done;
}

/// Everything with an epoch ≤ `complete` is in the segment: says so there, syncs, and publishes it.
///
/// A logger that is alone and has nothing newer than its last marker says so without a marker: an idle database writes
/// nothing. No entry of this log has an epoch greater than that marker's, so recovery, which goes by the marker, replays
/// exactly the transactions ≤ `complete` all the same; and what is logged later comes with a later marker. Only the
/// number D is forgotten: after a crash it may be less than it was, with no transaction in between. With several loggers
/// none may do so: recovery takes the smallest of their last markers and would drop what the others have.
Status Logger::finish_epoch(epoch::Epoch complete) {
  const bool idle = options_.alone && newest_ <= marked_in_log_;
  if (!idle) {
    if (const Status done = mark(complete); !done.ok()) return done;
  }
  base::sync_point("logger.synced");
  marked_ = complete;
  durable_.publish(options_.identity.logger, complete);
  base::sync_point("logger.published");
  return idle || segment_bytes_ < options_.segment_bytes ? Status() : rotate();
}

Status Logger::mark(epoch::Epoch complete) {
  if (base::injected(base::Bug::kAckBeforeSync)) durable_.publish(options_.identity.logger, complete);
  add_marker(complete);
  if (const Status done = write_out(); !done.ok()) return done;
  if (const Status done = segment_->sync(); !done.ok() && !base::injected(base::Bug::kIgnoreSyncError)) return done;
  give_room();
  bump(counters_.syncs, 1);
  return {};
}

void Logger::add_marker(epoch::Epoch complete) {
  struct {
    EntryHeader header{sizeof(Marker), 0, static_cast<std::uint64_t>(EntryKind::kMarker)};
    Marker marker;
  } entry;
  // Of D only what markers told: what an idle logger published without one (finish_epoch) has nothing in the log, and
  // if power loss takes the marker before this one but not this one, recovery must not think that something got lost.
  entry.marker = {complete, std::min(durable_.current(), marked_in_log_)};
  add_entry(reinterpret_cast<const char*>(&entry), entry.header);
  marked_in_log_ = complete;
}

/// The old segment may be removed only when the new one, with its marker, is durable: a logger always has a marker.
Status Logger::rotate() {
  Finished finished{segment_path_, last_epoch_};
  base::sync_point("logger.rotates");
  if (const Status begun = begin_segment(); !begun.ok()) return begun;
  const std::lock_guard lock(mutex_);
  finished_.push_back(std::move(finished));
  return {};
}

Status Logger::remove_until(epoch::Epoch epoch) {
  const std::lock_guard removing(removing_);
  for (;;) {
    std::string path;
    {
      const std::lock_guard lock(mutex_);
      if (finished_.empty() || finished_.front().last_epoch > epoch) return {};
      path = finished_.front().path;
    }
    const Status removed = options_.files->remove(path);
    if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
    // Each removal durable before the next: what power loss leaves of a logger's segments has no gap.
    if (const Status synced = options_.files->sync_directory(options_.directory); !synced.ok()) return synced;
    {
      const std::lock_guard lock(mutex_);
      finished_.erase(finished_.begin());
    }
    // Somebody else may have taken the space; then there are fewer spares.
    if (const Status done = space_.replenish(); !done.ok() && done.code() != StatusCode::kDiskFull) return done;
  }
}

}  // namespace granary::log
