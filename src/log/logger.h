#pragma once
// A logger (Silo 4.10): drains the rings of its workers into its own segments, epoch by epoch.
//
// One turn: ask which epoch is complete, *then* look at the rings' tails, so that every transaction up to that epoch
// is among what is drained; append it; append a marker that says so; sync; only then publish. I13 makes "complete" exact.
// In between, only rings that fill up are drained: what is in a ring survives the process as well as what is in a file, and
// few large writes are cheaper than many.
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
  SegmentHeader identity;  ///< database, logger, generation
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

  /// One turn; false if it had nothing to do. `urgent`: somebody waits for room in a ring. Errors go to the DurableEpoch.
  bool step(bool urgent = false);

  /// Removes the finished segments all of whose transactions have an epoch ≤ `epoch`. Thread-safe.
  Status remove_until(epoch::Epoch epoch);
  const LoggerCounters& counters() const { return counters_; }

 private:
  struct Finished {
    std::string path;
    epoch::Epoch last_epoch;
  };

  /// Entries that were appended, and are still in their ring.
  struct Taken {
    Ring* ring;
    std::uint64_t bytes;
    std::uint64_t end;  ///< behind them in the segment
  };

  Status turn(epoch::Epoch complete, bool urgent);
  Status begin_segment(std::span<const std::string_view> adopted = {});
  Status take(std::string_view pending, Ring* ring);
  Status finish_epoch(epoch::Epoch complete);
  Status mark(epoch::Epoch complete);
  Status rotate();
  void add_marker(epoch::Epoch complete);
  void add_entry(const char* entry, const EntryHeader& header);
  void pack(std::string_view entries);
  Status write_out();
  Status flush();
  void give_room();

  const LoggerOptions options_;
  SegmentSpace space_;
  const epoch::EpochManager& epochs_;
  DurableEpoch& durable_;
  std::mutex removing_;  // held by remove_until(); taken before mutex_, which is not held while the device works
  std::mutex mutex_;     // guards rings_ and finished_
  std::vector<Ring*> rings_;
  std::vector<Finished> finished_;

  // The logger thread's own.
  std::unique_ptr<base::File> segment_;
  std::string segment_path_;
  std::uint32_t segment_crc_ = 0;
  std::uint64_t segment_bytes_ = 0;
  std::uint64_t next_sequence_ = 0;
  epoch::Epoch last_epoch_ = 0;     // greatest in the segment
  epoch::Epoch newest_ = 0;         // greatest in the log
  epoch::Epoch marked_ = 0;         // what was published last
  epoch::Epoch marked_in_log_ = 0;  // of the last marker
  std::vector<char> buffer_;
  std::vector<Taken> taken_;              // in the order of the segment
  std::optional<Compressor> compressor_;  // if the options name a codec
  LoggerCounters counters_;
};

}  // namespace granary::log
