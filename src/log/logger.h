#pragma once
// Drains the rings of a logger's workers into its own segments, epoch by epoch (Silo 4.10).
//
// One turn asks which epoch is complete, *then* looks at the rings' tails, so that it drains every transaction up to
// that epoch. It appends the entries, appends a marker that says which epoch is complete, syncs, and only then
// publishes. I13 makes "complete" exact. Between two epochs only rings that fill up are drained: an entry in a ring
// survives the process as well as one in a file, and few large writes are cheaper than many small ones.
//
// A ring keeps entries that were drained until they are synced. If a ring is half full, or a worker waits for room, the
// logger syncs before the epoch ends, and begins the next segment if this one is full.
//
// A write or sync that fails stops the log for good: nothing counts as durable after it, even if a later call would
// succeed. A next segment that cannot be opened, as for want of descriptors, does not stop it at once: the segment then
// goes on beyond its size until there is another one, but only up to a few times its size.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/epoch/epoch.h"
#include "src/log/compressor.h"
#include "src/log/durable_epoch.h"
#include "src/log/format.h"
#include "src/log/ring.h"
#include "src/log/segment_space.h"

namespace granary::log {

struct LoggerOptions {
  base::FileSystem* files = nullptr;
  std::string directory;
  SegmentHeader identity;  ///< all but the sequence
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  std::uint64_t spares = 0;  ///< segments to set aside in advance
  std::optional<Codec> codec;
  bool alone = false;  ///< no other logger's markers are compared with this one's, so it need not mark idle epochs
};

/// Written by the logger with plain relaxed stores, read by statistics.
struct LoggerCounters {
  std::atomic<std::uint64_t> bytes{0};    ///< appended to segments
  std::atomic<std::uint64_t> entries{0};  ///< transactions
  std::atomic<std::uint64_t> syncs{0};
};

class Logger {
 public:
  Logger(LoggerOptions options, const epoch::EpochManager& epochs, DurableEpoch& durable);

  /// Begins the first segment, before the first step(). `adopted` are runs of whole entries from a former process's
  /// rings. They stand before the first marker, so that none of them can get lost unnoticed.
  Status open(std::span<const std::string_view> adopted = {});
  /// Says in the log, durably, that the manifest names the generation: repeats the first marker. No other marker of a
  /// segment has the epoch of the one before it. Called after open(), before the first step().
  Status note_named() { return add_synced_marker(); }
  /// Makes this logger drain the ring from now on. Rings are never taken away. Thread-safe.
  void add_ring(Ring* ring);

  /// Takes one turn. Returns false if there was nothing to do. `urgent` says that a worker waits for room in a ring.
  /// Errors go to the DurableEpoch.
  bool step(bool urgent = false);

  /// Returns the first segment that has a transaction with an epoch > `epoch`, or else the one being written.
  /// Thread-safe.
  std::uint64_t first_after(epoch::Epoch epoch);
  /// Removes the finished segments before `sequence`. Thread-safe.
  Status remove_before(std::uint64_t sequence);
  const LoggerCounters& counters() const { return counters_; }
  /// Returns how many segments there are, including the one being written. Thread-safe.
  std::uint64_t segments() const {
    const std::lock_guard lock(mutex_);
    return finished_.size() + 1;
  }
  /// Returns for how long the device has left this logger's call unanswered; 0 if it makes none. Thread-safe.
  std::uint64_t silent_us() const;
  const std::string& directory() const { return options_.directory; }
  /// Whether the next segment has been set aside. Thread-safe.
  bool has_spare() const { return space_.has_spare(); }

  // These two may be called once step() is not called any more.
  /// Returns where the log ends.
  Position end() const { return {segment_.sequence, segment_.bytes}; }
  /// Returns the epoch that the last marker says is complete. If all transactions had ended and were drained, the log
  /// has nothing of a later epoch.
  epoch::Epoch marked() const { return marked_in_log_; }
  /// Whether no transaction stands behind the last marker.
  bool ends_with_marker() const { return newest_ <= marked_in_log_; }

 private:
  struct Finished {
    std::uint64_t sequence;
    std::string path;
    epoch::Epoch last_epoch;
  };

  /// The segment that is being written.
  struct Segment {
    std::unique_ptr<base::File> file;
    std::string path;
    std::uint64_t sequence = 0;
    std::uint32_t crc = 0;
    std::uint64_t bytes = 0;
    epoch::Epoch last_epoch = 0;  ///< greatest in it
  };

  Status turn(epoch::Epoch complete, bool urgent);
  SegmentHeader header_of(std::uint64_t sequence) const;
  Result<Segment> open_segment();
  Status begin_segment(Segment segment, std::span<const std::string_view> adopted = {});
  Status drain(Ring& ring, epoch::Epoch last);
  Result<std::size_t> take(std::string_view entries, epoch::Epoch last);
  Status finish_epoch(epoch::Epoch complete);
  Status mark(epoch::Epoch complete);
  void tell(epoch::Epoch complete);
  Status rotate();
  Status end_segment(Segment& segment);
  void add_marker(epoch::Epoch complete);
  Status add_synced_marker();
  void add_entry(const char* entry, const EntryHeader& header);
  void pack(std::string_view entries);
  Status write_out();
  Status make_room();
  Status sync();
  void note_answer();
  void give_room();

  const LoggerOptions options_;
  SegmentSpace space_;
  const epoch::EpochManager& epochs_;
  DurableEpoch& durable_;
  std::mutex removing_;       // held by remove_before(); taken before mutex_, which is not held while the device works
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Ring*> rings_;
  std::vector<Finished> finished_;
  std::uint64_t unfinished_ = 0;  // the sequence of the segment that follows them

  // The logger's thread alone uses these.
  std::unique_ptr<base::File> directory_;  // kept open, since a sync must not fail for want of a descriptor
  std::vector<Ring*> known_rings_;         // the rings that there were when the turn began
  Segment segment_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t synced_bytes_ = 0;  // how much of the segment is synced
  epoch::Epoch newest_ = 0;         // the greatest epoch in the log
  epoch::Epoch marked_ = 0;         // the epoch that was published last
  epoch::Epoch marked_in_log_ = 0;  // the epoch in the last marker
  std::vector<char> buffer_;
  std::optional<Compressor> compressor_;  // if the options name a codec
  LoggerCounters counters_;
  /// The time when the device last answered in the turn that runs; 0 between turns. Written by the logger, read by
  /// workers that wait for room. Relaxed, since nothing else follows from it.
  std::atomic<std::uint64_t> answered_us_{0};
};

}  // namespace granary::log
