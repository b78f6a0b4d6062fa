#pragma once
// Describes the options of a database. include/granary/options.h has their types and defaults, and says more about
// each.

#include <limits>

#include <granary/limits.h>
#include <granary/options.h>

#include "src/base/option.h"

namespace granary::option {

inline constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kKiB * kMiB, kTiB = kKiB * kGiB;

template <>
struct Table<Options> {
  static constexpr std::tuple kRows{
      // --- durability ---
      path("directory", &Options::directory, "a path", "where the database lives on disk", "in memory only"),
      path("log_directories", &Options::log_directories, "a list of paths", "where the loggers write in turn",
           "in the directory"),
      path("reliable_directory", &Options::reliable_directory, "a path", "where the log rings are", "below /dev/shm"),
      number("loggers", &Options::loggers, 1, kMaxLoggers, "threads", "loggers; each serves some of the workers"),
      size("ring_bytes", &Options::ring_bytes, 64 * kKiB, kGiB, "size of each worker's log ring"),
      size("log_segment_bytes", &Options::log_segment_bytes, 64 * kKiB, 16 * kGiB,
           "size of the log's segments, which are removed as a whole"),
      size("log_reserve_bytes", &Options::log_reserve_bytes, 0, 16 * kTiB,
           "disk space set aside for the log at the start, so that none of it waits for an allocation"),
      choice("release", &Options::release, {{Release::kDurable, "durable"}, {Release::kCommit, "commit"}},
             "when a result may be shown: once it survives power loss, or at commit"),
      choice("log_compression", &Options::log_compression,
             {{LogCompression::kNone, "none"}, {LogCompression::kLz4, "lz4"}, {LogCompression::kZstd, "zstd"}},
             "compression of log files"),
      number("checkpoint_interval_s", &Options::checkpoint_interval_s, 0, 1'000'000, "seconds",
             "time between checkpoints while logging; 0 = none"),
      on_off("salvage", &Options::salvage, "open although stored data are damaged, and say what is lost"),
      plain("recovery_progress", &Options::recovery_progress, "a function", "called now and then during a recovery"),

      // --- the engine ---
      number("epoch_ms", &Options::epoch_ms, 1, 10'000, "milliseconds", "time between epochs"),
      number("snapshot_epochs", &Options::snapshot_epochs, 1, 10'000, "epochs",
             "a snapshot is taken every so many epochs"),
      number("max_open_epochs", &Options::max_open_epochs, 0, std::numeric_limits<std::uint32_t>::max(), "epochs",
             "a transaction that is open for longer is aborted; 0 = no limit"),
      number("max_workers", &Options::max_workers, 1, kMaxWorkers, "workers",
             "workers that may be registered at the same time"),
      size("memory_limit_bytes", &Options::memory_limit_bytes, 8 * kMiB, 1024 * kTiB,
           "most that records, versions and index may take; 0 = three quarters of the machine's memory",
           "three quarters of the machine's memory"),
      size("prefault_bytes", &Options::prefault_bytes, 0, 1024 * kTiB,
           "memory touched before loading, so that no page fault meets a request"),
      choice("huge_pages", &Options::huge_pages,
             {{HugePages::kTry, "try"}, {HugePages::kRequire, "require"}, {HugePages::kOff, "off"}},
             "2 MiB pages for records and index"),
      number("numa_node", &Options::numa_node, 0, kMaxNumaNode, "", "NUMA node of its memory", "any"),
      on_off("shared_memory", &Options::shared_memory, "map the memory so that other processes can map it, too"),
      choice("background", &Options::background, {{Background::kThreads, "threads"}, {Background::kManual, "manual"}},
             "who drives epochs and watchdog: threads of the database, or its caller"),
      on_off("snapshots", &Options::snapshots, "keep old versions, so that snapshots work"),
      on_off("garbage_collection", &Options::garbage_collection, "free what cannot be reached any more"),
      on_off("overwrite_in_place", &Options::overwrite_in_place,
             "overwrite records in place where no snapshot needs the old bytes"),
      on_off("simple_allocator", &Options::simple_allocator, "malloc instead of slabs, to measure it"),
      plain("protocol", &Options::protocol, "a protocol's name", "concurrency control of transactions", {}),
      on_off("tictoc_no_wait", &Options::tictoc_no_wait, "tictoc: let go and claim again rather than wait"),
      on_off("tictoc_preempt", &Options::tictoc_preempt, "tictoc: look before the claims whether the reads can pass"),
      on_off("tictoc_history", &Options::tictoc_history, "tictoc: remember when overwritten versions ended"),
      on_off("session_order", &Options::session_order, "commit times of one worker ascend, under tictoc, too"),
      choice("tid_source", &Options::tid_source,
             {{TidSource::kDecentralized, "decentralized"}, {TidSource::kGlobal, "global"}},
             "where TIDs come from: each worker, or, to measure it, one shared counter"),
      choice("htm", &Options::htm, {{Htm::kOff, "off"}, {Htm::kAuto, "auto"}, {Htm::kRtm, "rtm"}, {Htm::kSim, "sim"}},
             "commits in hardware transactions before locks: auto, if Intel TSX works here; sim, simulated, in builds "
             "for tests only"),
      plain("htm_simulation", &Options::htm_simulation, "an HtmSimulation", "what the simulated HTM is like",
            "a first-level cache of 32 KiB"),
      on_off("small_log_records", &Options::small_log_records, "log TIDs without what was written, to measure it"),
      plain("notices", &Options::notices, "a function", "takes what the database tells of its own accord",
            "printed on standard error"),
  };
};

template <>
struct Table<HtmSimulation> {
  static constexpr std::tuple kRows{
      number("sets", &HtmSimulation::sets, 1, 65'536, "", "sets of the cache that holds written lines"),
      number("ways", &HtmSimulation::ways, 1, 64, "lines", "lines of a set"),
      number("lines", &HtmSimulation::lines, 1, 65'536, "lines", "lines that a region may read and write in all"),
      number("spurious_per_thousand", &HtmSimulation::spurious_per_thousand, 0, 1000, "regions",
             "regions that end without a reason"),
      number("seed", &HtmSimulation::seed, 0, std::numeric_limits<std::uint64_t>::max(), "", "seed of chance"),
  };
};

}  // namespace granary::option
