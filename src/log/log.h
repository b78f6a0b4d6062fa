#pragma once
// The log of one open database: its loggers, the rings of its workers, and D. Nothing of it is shared with another
// database of the process.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <granary/options.h>

#include "src/base/waiter.h"
#include "src/log/logger.h"

namespace granary::log {

struct LogOptions {
  base::FileSystem* files = nullptr;
  std::vector<std::string> directories;  ///< logger i writes to the (i mod size)th; they exist
  std::string reliable_directory;        ///< of the rings; exists
  std::uint32_t loggers = Options().loggers;
  std::uint64_t ring_bytes = Options().ring_bytes;
  std::uint64_t segment_bytes = Options().log_segment_bytes;
  std::uint64_t reserve_bytes = Options().log_reserve_bytes;  ///< set aside for segments, by all loggers together
  std::optional<Codec> codec;
  bool cluster = false;  ///< of a node of a cluster: entries may hold writes of other nodes' records
  bool threads = true;   ///< false: whoever drives the database calls step()
  DatabaseId database{};
  std::uint64_t generation = 0;
  Stamp stamp = 0;  ///< of the generation
};

struct LogStatistics {
  std::uint64_t bytes = 0, entries = 0, syncs = 0;
  std::uint64_t segments = 0;  ///< there are, those being written included
};

class Log {
 public:
  /// Begins a generation whose epochs are all greater than `durable`, which is durable already.
  /// `adopted`: runs of whole entries from former rings, which are durable here when this returns.
  static Result<std::unique_ptr<Log>> open(LogOptions options, const epoch::EpochManager& epochs, epoch::Epoch durable,
                                           std::span<const std::string_view> adopted = {});
  /// Ends the threads. What is in the rings stays there, as after a crash: see close().
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Makes the worker's ring. Once per worker. Thread-safe.
  Result<Ring*> add_worker(std::uint32_t worker);

  const DurableEpoch& durable() const { return durable_; }
  /// Nothing more is written, as if a logger had met `cause`: for what makes the files that there are useless for more.
  /// Thread-safe.
  void fail(const Status& cause) { durable_.fail(cause); }
  const LogOptions& options() const { return options_; }
  LogStatistics statistics() const;

  /// One turn of every logger; only without threads. True if there was something to do.
  bool step();
  /// The epoch has moved: loggers look at once.
  void nudge();
  /// Waits until `bytes` (≤ its capacity) may be written to the ring. Returns false if the log has failed, or a device
  /// has not answered for so long that it stalls(). A device that is slow but answers is waited for.
  [[nodiscard]] bool wait_for_room(base::Waiter& waiter, Ring& ring, std::uint64_t bytes);
  /// kUnavailable, with the directory and for how long, while a device leaves a call of a logger unanswered for
  /// kSilence_us; else OK. Only a log with threads can tell. Thread-safe.
  Status stall() const;
  static constexpr std::uint64_t kSilence_us = 10'000'000;
  /// For tests: another limit than kSilence_us. Before anybody waits.
  void set_silence(std::uint64_t silence_us) { silence_us_ = silence_us; }

  /// All transactions have ended and E has moved on since: makes them durable. The rings stay.
  Status close();
  /// Removes the rings of a log that is closed and owes() nothing. Call it when the manifest says that the generation
  /// has ended: until then a recovery needs every one of them.
  Status remove_rings();
  /// Returns the path of a ring whose file is gone, as nobody but remove_rings() may remove it; "" if all are there.
  /// Thread-safe.
  std::string missing_ring() const;
  /// Whether a ring names locks at other nodes that were not given back, after close(). Thread-safe.
  bool owes() const;
  /// After close(): where each logger's log ends, and the least of what their last markers say is complete.
  struct End {
    std::vector<Position> positions;
    epoch::Epoch complete = 0;
  };
  End end() const;

  /// Of each logger the first segment that a checkpoint of all transactions with an epoch ≤ `epoch` does not make
  /// needless. The entry of a transaction whose locks are still named stays: who recovers this node looks for it
  /// (recovery/dead_log.h), even if the home of the locks is dead by now and they are gone with it. Thread-safe.
  std::vector<std::uint64_t> first_after(epoch::Epoch epoch);
  /// Returns the directories of the loggers that have no segment set aside, so that their next one asks the file system
  /// for room. Thread-safe.
  std::vector<std::string> directories_without_spare() const;
  /// Removes what each logger has before these segments, which the manifest names as its first by now. Thread-safe.
  Status remove_before(std::span<const std::uint64_t> first);

 private:
  Log(LogOptions options, const epoch::EpochManager& epochs, epoch::Epoch durable);
  bool step(Logger& logger);
  const Logger* silent_logger() const;
  void run(Logger& logger);
  void stop();

  const LogOptions options_;
  std::uint64_t silence_us_ = kSilence_us;
  DurableEpoch durable_;
  std::atomic<std::uint32_t> waiting_{0};  // workers that wait for room; loggers look at it every turn, so relaxed
  std::vector<std::unique_ptr<Logger>> loggers_;

  bool owes_something() const;  ///< with the mutex held
  epoch::Epoch owed_from() const;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::uint64_t nudges_ = 0;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<std::string> ring_paths_;

  std::vector<std::thread> threads_;
};

}  // namespace granary::log
