#pragma once
// Puts the log of one open database together: its loggers, the rings of its workers, and D. Databases of one process
// share nothing of it.

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
  std::string reliable_directory;        ///< where the rings lie; exists
  std::uint32_t loggers = Options().loggers;
  std::uint64_t ring_bytes = Options().ring_bytes;
  std::uint64_t segment_bytes = Options().log_segment_bytes;
  std::uint64_t reserve_bytes = Options().log_reserve_bytes;  ///< set aside for segments, by all loggers together
  std::optional<Codec> codec;
  bool cluster = false;  ///< whether this is a node of a cluster, whose entries may hold writes of other nodes' records
  bool threads = true;   ///< false: the code that drives the database calls step()
  DatabaseId database{};
  std::uint64_t generation = 0;
  Stamp stamp = 0;  ///< of the generation
};

struct LogStatistics {
  std::uint64_t bytes = 0, entries = 0, syncs = 0;
  std::uint64_t segments = 0;  ///< how many there are, including those being written
};

class Log {
 public:
  /// Opens the log for a generation whose epochs are all greater than `durable`, up to which all is durable already.
  /// `adopted` are runs of whole entries from former rings. They are durable in this log when the call returns. Nothing
  /// else is written before start().
  static Result<std::unique_ptr<Log>> open(LogOptions options, const epoch::EpochManager& epochs, epoch::Epoch durable,
                                           std::span<const std::string_view> adopted = {});
  /// Ends the threads. Entries that are in the rings stay there, as after a crash; close() empties the rings.
  ~Log();
  /// Begins the work of the log, once the manifest that names the generation is on the device. Each logger says first,
  /// durably, that there is such a manifest. So an older one is known as such (recovery/log_scan.h), also if nothing
  /// but adopted entries is in the log. Called once, before the former rings are removed, and before step().
  Status start();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Makes the worker's ring. It is called once for each worker. Thread-safe.
  Result<Ring*> add_worker(std::uint32_t worker);

  const DurableEpoch& durable() const { return durable_; }
  /// Stops the log, as if a logger had met `cause`. For events that make the files of the log useless. Thread-safe.
  void fail(const Status& cause) { durable_.fail(cause); }
  const LogOptions& options() const { return options_; }
  LogStatistics statistics() const;

  /// Takes one turn of every logger, in a log without threads. Returns whether there was something to do.
  bool step();
  /// Wakes the loggers, because the epoch has moved.
  void nudge();
  /// Waits until `bytes` (≤ its capacity) may be written to the ring. Returns false if the log has failed, or if a
  /// device has not answered for kSilence_us (stall()). A device that is slow but answers is waited for.
  [[nodiscard]] bool wait_for_room(base::Waiter& waiter, Ring& ring, std::uint64_t bytes);
  /// Returns kUnavailable, with the directory and the time, if a device has left a call of a logger unanswered for
  /// kSilence_us or longer; else OK. Without threads, a log cannot tell. Thread-safe.
  Status stall() const;
  static constexpr std::uint64_t kSilence_us = 10'000'000;
  /// Sets another limit than kSilence_us. For tests, before any thread waits.
  void set_silence(std::uint64_t silence_us) { silence_us_ = silence_us; }

  /// Makes all transactions durable. All have ended, and E has moved on since. The rings stay.
  Status close();
  /// Removes the rings of a log that is closed and owes() nothing. The manifest must say already that the generation
  /// has ended, since until then a recovery needs every one of them.
  Status remove_rings();
  /// Returns the path of a ring whose file is gone, although only remove_rings() may remove it; "" if all are there.
  /// Thread-safe.
  std::string missing_ring() const;
  /// Whether a ring still names locks at other nodes that were not given back. Called after close(). Thread-safe.
  bool owes() const;
  /// Tells, after close(), where each logger's log ends, and up to which epoch all of them are complete by their last
  /// markers.
  struct End {
    std::vector<Position> positions;
    epoch::Epoch complete = 0;
  };
  End end() const;

  /// Returns for each logger the first segment that is still needed once there is a checkpoint of all transactions with
  /// an epoch ≤ `epoch`. The entry of a transaction whose locks are still named stays, because a recovery of this node
  /// looks for it (recovery/dead_log.h), even if the home of the locks is dead by now and its locks are gone.
  /// Thread-safe.
  std::vector<std::uint64_t> first_after(epoch::Epoch epoch);
  /// Returns the directories of the loggers that have no segment set aside, so that their next one asks the file system
  /// for room. Thread-safe.
  std::vector<std::string> directories_without_spare() const;
  /// Removes each logger's segments before these, which the manifest names as its first by now. Thread-safe.
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

  bool owes_something() const;  ///< needs the mutex
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
