#pragma once
// How a database is set up. Every field has a default that suits a laptop and a server alike.

#include <cstdint>

namespace granary {

/// What to back memory with: 2 MiB pages, reserved (hugetlb) or transparent.
enum class HugePages : std::uint8_t {
  kTry,      ///< use them if the system has any; one warning if not (default)
  kRequire,  ///< open() fails without them
  kOff,      ///< ordinary pages
};

/// Who drives the periodic work (epochs, watchdog).
enum class Background : std::uint8_t {
  kThreads,  ///< threads of the database (default)
  kManual,   ///< the caller, through Database::step(); for tests and simulators
};

/// Where a transaction's TID comes from.
enum class TidSource : std::uint8_t {
  kDecentralized,  ///< Silo 4.2 (default)
  kGlobal,         ///< one shared counter: the paper's GlobalTID, for comparison only
};

struct Options {
  /// Milliseconds between epoch advances; 1 to 10000. Silo uses 40.
  std::uint32_t epoch_ms = 40;
  /// k: a snapshot is taken every k epochs; 1 to 10000. Silo uses 25, so about one a second.
  std::uint32_t snapshot_epochs = 25;
  /// Epochs that a transaction may stay open before it is aborted at its next call (AbortReason::kOpenTooLong);
  /// 0 = no limit, at the price that one forgotten transaction stops garbage collection. Snapshots are exempt.
  std::uint32_t max_open_epochs = 10;
  /// Workers that may be registered at the same time; 1 to kMaxWorkers.
  std::uint32_t max_workers = 256;
  /// Bytes that records, versions and index nodes may take together; 0 = three quarters of the machine's
  /// (or the control group's) memory. Beyond it, operations report Outcome::kOutOfMemory.
  std::uint64_t memory_limit_bytes = 0;
  /// Bytes touched at open, so that no page fault meets a transaction; 0 = none.
  std::uint64_t prefault_bytes = 0;
  HugePages huge_pages = HugePages::kTry;
  /// NUMA node to place memory on; -1 = where each worker first touches it.
  int numa_node = -1;
  Background background = Background::kThreads;

  /// Keep old versions so that Snapshot works (Silo 4.9).
  bool snapshots = true;
  /// Free unreachable nodes, versions and absent records (Silo 4.8). Off only to measure its cost.
  bool garbage_collection = true;
  /// Overwrite records in place where no snapshot needs the old bytes. Off only to measure (Fig. 11).
  bool overwrite_in_place = true;
  /// malloc instead of per-worker slabs. Only to measure (Fig. 11): what the database holds when it closes is freed
  /// only with the process.
  bool simple_allocator = false;
  TidSource tid_source = TidSource::kDecentralized;
};

}  // namespace granary
