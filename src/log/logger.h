#pragma once
// A logger (Silo 4.10): drains the rings of its workers into its own segments, epoch by epoch.
//
// One turn: ask which epoch is complete, *then* look at the rings' tails, so that every transaction up to that epoch is
// among what is drained; append it; append a marker that says so; sync; only then publish. I13 makes "complete" exact.
// In between, only rings that fill up are drained: what is in a ring survives the process as well as what is in a file,
// and few large writes are cheaper than many.
//
// A ring keeps what was drained until that is synced. A ring that is half full, or a worker that waits for room, has
// the logger sync before the epoch ends, and begin the next segment if this one is full.
//
// A write or sync that fails poisons the log: nothing is claimed after it, also if a later call would succeed.

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
  bool alone = false;  ///< no other logger's markers are compared with this one's: it need not mark idle epochs
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

  /// Begins the first segment, before the first step(). `adopted` are runs of whole entries that come from elsewhere, a
  /// former process's rings; they stand before the first marker, so that none of them can get lost unnoticed.
  Status open(std::span<const std::string_view> adopted = {});
  /// The ring's entries go to this logger from now on. Thread-safe. Rings are never taken away.
  void add_ring(Ring* ring);

  /// One turn; false if it had nothing to do. `urgent`: somebody waits for room in a ring. Errors go to the
  /// DurableEpoch.
  bool step(bool urgent = false);

  /// The first segment that has a transaction with an epoch > `epoch`, or is the one being written. Thread-safe.
  std::uint64_t first_after(epoch::Epoch epoch);
  /// Removes the finished segments before `sequence`. Thread-safe.
  Status remove_before(std::uint64_t sequence);
  const LoggerCounters& counters() const { return counters_; }
  /// How many segments there are, that being written included. Thread-safe.
  std::uint64_t segments() const {
    const std::lock_guard lock(mutex_);
    return finished_.size() + 1;
  }
  /// For how long the device has left this logger's call unanswered; 0 while there is none. Thread-safe.
  std::uint64_t silent_us() const;
  const std::string& directory() const { return options_.directory; }
  /// Whether its next segment has been set aside. Thread-safe.
  bool has_spare() const { return space_.has_spare(); }

  // Once nobody steps it any more.
  /// Where its log ends.
  Position end() const { return {segment_.sequence, segment_.bytes}; }
  /// What the last marker in it says is complete. Nothing in it is of a later epoch if all transactions had ended and
  /// were drained.
  epoch::Epoch marked() const { return marked_in_log_; }

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
  Status begin_segment(std::span<const std::string_view> adopted = {});
  Status drain(Ring& ring, epoch::Epoch last);
  Result<std::size_t> take(std::string_view entries, epoch::Epoch last);
  Status finish_epoch(epoch::Epoch complete);
  Status mark(epoch::Epoch complete);
  void tell(epoch::Epoch complete);
  Status rotate();
  Status end_segment(Segment& segment);
  void add_marker(epoch::Epoch complete);
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
  std::uint64_t unfinished_ = 0;  // the segment that follows them

  // The logger thread's own.
  std::vector<Ring*> known_rings_;  // as they were when the turn began
  Segment segment_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t synced_bytes_ = 0;  // of the segment
  epoch::Epoch newest_ = 0;         // greatest in the log
  epoch::Epoch marked_ = 0;         // what was published last
  epoch::Epoch marked_in_log_ = 0;  // of the last marker
  std::vector<char> buffer_;
  std::optional<Compressor> compressor_;  // if the options name a codec
  LoggerCounters counters_;
  /// When the device last answered in the turn that runs; 0 between turns. Written by the logger, read by workers that
  /// wait for room; relaxed, as nothing else follows from it.
  std::atomic<std::uint64_t> answered_us_{0};
};

}  // namespace granary::log
