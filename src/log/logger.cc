#include "src/log/logger.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/base/tsc_clock.h"
#include "src/record/tid.h"

namespace granary::log {
namespace {

/// Entries are gathered up to this size before they are appended, so that they stay in the nearest caches.
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
/// A ring is drained before the epoch is complete once it is filled to this share.
constexpr std::uint64_t kDrainShare = 4;
/// The log is synced before the epoch is complete once a ring is filled to this share, so that the ring gets room. The
/// worker has the other half of the ring meanwhile.
constexpr std::uint64_t kSyncShare = 2;
/// A segment goes on for want of the next one up to so many times its size, since a recovery holds it in memory, and no
/// checkpoint makes it needless.
constexpr std::uint64_t kMostGrowth = 8;

void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

EntryHeader header_at(const char* entry) {
  EntryHeader header;
  std::memcpy(&header, entry, sizeof header);
  return header;
}

/// Whether all of these whole entries have epochs greater than `epoch`.
bool all_behind(std::string_view entries, epoch::Epoch epoch) {
  for (std::size_t at = 0; at < entries.size(); at += header_at(entries.data() + at).bytes()) {
    if (record::epoch_of(header_at(entries.data() + at).tid()) <= epoch) return false;
  }
  return true;
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
  if (const Status reserved = space_.replenish(); !reserved.ok()) return reserved;
  auto directory = options_.files->open_directory(options_.directory);
  if (!directory.ok()) return directory.status();
  directory_ = std::move(*directory);
  auto segment = open_segment();
  return segment.ok() ? begin_segment(std::move(*segment), adopted) : segment.status();
}

void Logger::add_ring(Ring* ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
}

SegmentHeader Logger::header_of(std::uint64_t sequence) const {
  SegmentHeader header = options_.identity;
  header.sequence = sequence;
  header.seal();
  return header;
}

/// Returns the next segment, of which nothing is written yet. An error changes nothing here.
Result<Logger::Segment> Logger::open_segment() {
  const SegmentHeader header = header_of(next_sequence_);
  const std::string name = segment_name(header.generation, header.logger, header.sequence);
  Segment segment{.file = {}, .path = options_.directory + "/" + name, .sequence = header.sequence, .crc = header.crc};
  auto file = space_.take(segment.path);
  note_answer();
  if (!file.ok()) return file.status();
  ++next_sequence_;
  segment.file = std::move(*file);
  return segment;
}

Status Logger::begin_segment(Segment segment, std::span<const std::string_view> adopted) {
  const SegmentHeader header = header_of(segment.sequence);
  segment_ = std::move(segment);
  synced_bytes_ = 0;
  const char* const bytes = reinterpret_cast<const char*>(&header);
  buffer_.insert(buffer_.end(), bytes, bytes + sizeof header);
  for (const std::string_view entries : adopted) {
    const auto taken = take(entries, epoch::kLastEpoch);
    if (!taken.ok()) return taken.status();
  }
  // Each segment says by itself how far the logger has come, because the earlier segments may be removed, and their
  // markers with them.
  if (const Status done = add_synced_marker(); !done.ok()) return done;
  if (base::injected("skip-directory-sync")) return {};
  const Status done = directory_->sync();
  note_answer();
  return done;
}

/// Writes the last published epoch's marker and syncs it, while no ring has anything in the segment.
Status Logger::add_synced_marker() {
  add_marker(marked_);
  if (const Status done = write_out(); !done.ok()) return done;
  if (const Status done = segment_.file->sync(); !done.ok()) return done;
  note_answer();
  synced_bytes_ = segment_.bytes;
  return {};
}

bool Logger::step(bool urgent) {
  if (durable_.failed()) return false;
  // This is asked before the tails are looked at, so the entries drained below include every transaction up to the
  // answer.
  const bool moved_on = epochs_.current() > marked_ + 1 || epochs_.ended();
  // A worker that enters late shows an old epoch for a moment, in which it has no open transaction. An epoch that was
  // complete stays complete.
  const epoch::Epoch complete = moved_on ? std::max(epochs_.complete(), marked_) : marked_;
  const std::uint64_t before = counters_.bytes.load(std::memory_order_relaxed);
  note_answer();
  const Status done = turn(complete, urgent);
  answered_us_.store(0, std::memory_order_relaxed);
  if (!done.ok()) durable_.fail(done);
  return counters_.bytes.load(std::memory_order_relaxed) != before;
}

void Logger::note_answer() { answered_us_.store(base::monotonic_us(), std::memory_order_relaxed); }

std::uint64_t Logger::silent_us() const {
  const std::uint64_t answered_us = answered_us_.load(std::memory_order_relaxed);
  const std::uint64_t now_us = base::monotonic_us();
  return answered_us == 0 ? 0 : now_us - std::min(now_us, answered_us);
}

Status Logger::turn(epoch::Epoch complete, bool urgent) {
  {
    const std::lock_guard lock(mutex_);
    known_rings_ = rings_;
  }
  bool for_room = urgent;
  for (const Ring* const ring : known_rings_) for_room |= ring->held() >= ring->capacity() / kSyncShare;
  const bool all = complete > marked_ || for_room;
  for (Ring* const ring : known_rings_) {
    if (!all && ring->undrained().size() < ring->capacity() / kDrainShare) continue;
    if (const Status done = drain(*ring, complete + kAheadOfMarker); !done.ok()) return done;
  }
  if (complete > marked_) return finish_epoch(complete);
  return for_room ? make_room() : Status();
}

/// Syncs for room in the rings, and goes on in a new segment if this one is full. An epoch may last for long, for
/// instance while a node of the cluster stands still, and a recovery has to hold a whole segment in memory. So the log
/// goes on in the next segment, which begins with the last marker. All entries before that marker are of epochs that
/// drain() allows.
Status Logger::make_room() {
  if (const Status done = sync(); !done.ok()) return done;
  if (segment_.bytes < options_.segment_bytes) return {};
  // A logger that is alone has not marked idle epochs (finish_epoch()). But the next segment begins with a marker of
  // the last published epoch, and no segment may end before such a marker is in it.
  if (marked_in_log_ < marked_ && !base::injected("rotate-without-marker")) {
    if (const Status done = mark(marked_); !done.ok()) return done;
  }
  return rotate();
}

/// Appends the ring's entries to the segment, up to the first one of an epoch after `last`.
///
/// E was at most `last` when the turn asked which epoch is complete, and may have moved on while the device wrote the
/// entries of other rings. A later entry waits for the next turn: a recovery that reads only the end of the log relies
/// on it that no later entry stands before this turn's marker. No entry that is complete waits with it, since the
/// epochs in a ring go back by at most one.
Status Logger::drain(Ring& ring, epoch::Epoch last) {
  const std::string_view entries = ring.undrained();
  if (entries.empty()) return {};
  const auto taken = take(entries, base::injected("drain-ahead-of-marker") ? epoch::kLastEpoch : last);
  if (!taken.ok()) return taken.status();
  base::debug_invariant("I18", [&] { return all_behind(entries.substr(0, *taken), marked_); });
  base::sync_point("logger.appended");
  ring.drained(*taken);
  if (base::injected("give-room-before-sync")) give_room();
  return {};
}

/// Appends whole entries to the segment, a buffer at a time, up to the first one of an epoch after `last`. Returns the
/// size of those entries.
Result<std::size_t> Logger::take(std::string_view entries, epoch::Epoch last) {
  std::size_t at = 0;
  for (bool more = true; more && at < entries.size();) {
    const std::size_t from = at;
    while (at < entries.size() && at - from < kBufferBytes) {
      const EntryHeader header = header_at(entries.data() + at);
      const epoch::Epoch epoch = record::epoch_of(header.tid());
      more = epoch <= last;
      if (!more) break;
      // A ring holds only whole transactions up to its tail.
      base::invariant("I8", header.kind() == EntryKind::kTransaction && header.bytes() <= entries.size() - at);
      segment_.last_epoch = std::max(segment_.last_epoch, epoch);
      newest_ = std::max(newest_, segment_.last_epoch);
      if (!options_.codec) add_entry(entries.data() + at, header);
      bump(counters_.entries, 1);
      at += header.bytes();
    }
    if (options_.codec && at != from) pack(entries.substr(from, at - from));
    if (const Status done = write_out(); !done.ok()) return done;
  }
  return at;
}

/// Makes the segment durable as far as it was written. Only after that may the rings' workers write over its entries.
Status Logger::sync() {
  if (synced_bytes_ == segment_.bytes) return {};
  if (const Status done = segment_.file->sync(); !done.ok() && !base::injected("ignore-sync-error")) return done;
  note_answer();
  synced_bytes_ = segment_.bytes;
  bump(counters_.syncs, 1);
  give_room();
  return {};
}

void Logger::give_room() {
  base::debug_invariant("I19", [&] { return synced_bytes_ == segment_.bytes; });
  for (Ring* const ring : known_rings_) ring->give_room({segment_.sequence, segment_.bytes});
  base::sync_point("logger.gave_room");
}

void Logger::add_entry(const char* entry, const EntryHeader& header) {
  const std::size_t at = buffer_.size();
  buffer_.insert(buffer_.end(), entry, entry + header.bytes());
  const std::uint32_t crc = entry_crc(segment_.crc, entry, header.body_bytes);
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
  const Status done = segment_.file->append(buffer_);
  segment_.bytes += buffer_.size();
  bump(counters_.bytes, buffer_.size());
  buffer_.clear();
  note_answer();
  return done;
}

/// Writes, syncs and publishes that the segment has everything with an epoch ≤ `complete`.
///
/// A logger that is alone and has nothing newer than its last marker publishes without a new marker, so an idle
/// database writes nothing. Recovery goes by the last marker. It still replays exactly the transactions ≤ `complete`,
/// because no entry of this log has an epoch greater than that marker's, and entries that are logged later come with a
/// later marker. Only the number D is forgotten: after a crash it may be less than it was, with no transaction in
/// between. With several loggers none may skip its marker: recovery takes the smallest of their last markers, and would
/// drop entries of the others.
Status Logger::finish_epoch(epoch::Epoch complete) {
  const bool idle = options_.alone && newest_ <= marked_in_log_;
  if (!idle) {
    if (const Status done = mark(complete); !done.ok()) return done;
  }
  base::sync_point("logger.synced");
  base::invariant("I18", complete > marked_);
  marked_ = complete;
  tell(complete);
  base::sync_point("logger.published");
  return idle || segment_.bytes < options_.segment_bytes ? Status() : rotate();
}

Status Logger::mark(epoch::Epoch complete) {
  if (base::injected("ack-before-sync")) tell(complete);
  add_marker(complete);
  if (const Status done = write_out(); !done.ok()) return done;
  return sync();
}

void Logger::tell(epoch::Epoch complete) {
  base::debug_invariant("I18", [&] { return buffer_.empty() && synced_bytes_ == segment_.bytes; });
  durable_.publish(options_.identity.logger, complete);
}

void Logger::add_marker(epoch::Epoch complete) {
  struct {
    EntryHeader header{sizeof(Marker), 0, static_cast<std::uint64_t>(EntryKind::kMarker)};
    Marker marker;
  } entry;
  // The marker tells only of a D that earlier markers told. An idle logger publishes D without a marker
  // (finish_epoch()), so nothing in the log supports that D. If power loss then took the marker before this one, but
  // not this one, recovery would think that something got lost. The load of the cluster's D is an acquire load, as for
  // all words of the leader: the leader raises the cluster's D when all logs have what it covers.
  const epoch::Epoch released = epochs_.control().by_leader.durable.load(std::memory_order_acquire);
  entry.marker = {complete, std::min(durable_.current(), marked_in_log_), released};
  add_entry(reinterpret_cast<const char*>(&entry), entry.header);
  marked_in_log_ = complete;
}

/// Goes on in a new segment. A logger must always have a marker, so the old segment may be removed only when the new
/// one, with its marker, is durable. The old segment says only after that, and before more is written to the new one,
/// that the log goes on there: from then on a recovery would miss the new one.
///
/// If no file can be opened now, as with too many open files, nothing has been lost: the log goes on in the old
/// segment, and the next turn tries again. But the cause may also be one that stays, such as a directory in which this
/// user may make no files any more. So the log fails once the old segment has grown too much.
Status Logger::rotate() {
  base::sync_point("logger.rotates");
  auto next = open_segment();
  const bool may_grow = segment_.bytes / kMostGrowth < options_.segment_bytes;
  if (next.status().code() == StatusCode::kUnavailable && may_grow) return {};
  if (!next.ok()) return next.status();
  Segment old = std::move(segment_);
  if (const Status begun = begin_segment(std::move(*next)); !begun.ok()) return begun;
  if (const Status ended = end_segment(old); !ended.ok()) return ended;
  const std::lock_guard lock(mutex_);
  finished_.push_back({old.sequence, std::move(old.path), old.last_epoch});
  unfinished_ = segment_.sequence;
  return {};
}

Status Logger::end_segment(Segment& segment) {
  struct {
    EntryHeader header{sizeof(Continues), 0, static_cast<std::uint64_t>(EntryKind::kContinues)};
    Continues continues;
  } entry;
  static_assert(sizeof entry == padded(sizeof(EntryHeader) + sizeof(Continues)));
  entry.continues = {segment_.sequence};
  const char* const bytes = reinterpret_cast<const char*>(&entry);
  entry.header.crc = entry_crc(segment.crc, bytes, sizeof entry.continues);
  if (const Status done = segment.file->append({bytes, sizeof entry}); !done.ok()) return done;
  note_answer();
  bump(counters_.bytes, sizeof entry);
  const Status done = segment.file->sync();
  note_answer();
  return done;
}

std::uint64_t Logger::first_after(epoch::Epoch epoch) {
  const std::lock_guard lock(mutex_);
  for (const Finished& finished : finished_) {
    if (finished.last_epoch > epoch) return finished.sequence;
  }
  return unfinished_;
}

Status Logger::remove_before(std::uint64_t sequence) {
  const std::lock_guard removing(removing_);
  for (;;) {
    std::string path;
    {
      const std::lock_guard lock(mutex_);
      if (finished_.empty() || finished_.front().sequence >= sequence) return {};
      path = finished_.front().path;
    }
    const Status removed = options_.files->remove(path);
    if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
    // Each removal is made durable before the next one, so that a power loss leaves no gap in a logger's segments.
    if (const Status synced = options_.files->sync_directory(options_.directory); !synced.ok()) return synced;
    {
      const std::lock_guard lock(mutex_);
      finished_.erase(finished_.begin());
    }
    // The file system may have no room left, because others have taken it. Then there are fewer spare segments.
    if (const Status done = space_.replenish(); !done.ok() && done.code() != StatusCode::kDiskFull) return done;
  }
}

}  // namespace granary::log
