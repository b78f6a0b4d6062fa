#pragma once
// How a database is set up. Every field has a default that suits a laptop and a server alike.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <granary/notice.h>

namespace granary {

/// What to back memory with: 2 MiB pages, reserved (hugetlb) or transparent.
enum class HugePages : std::uint8_t {
  kTry,      ///< use them if the system has any; one warning if not (default)
  kRequire,  ///< open() fails without them
  kOff,      ///< ordinary pages
};

/// Tells who drives the periodic work.
enum class Background : std::uint8_t {
  kThreads,  ///< threads of the database (default)
  /// The caller, through Database::step(), for tests and simulators. What goes by real time is left out then: there are
  /// no checkpoints but those that are asked for (checkpoint_interval_s), and no NoticeTopic::kOpenTransaction.
  kManual,
};

/// Where a transaction's TID comes from.
enum class TidSource : std::uint8_t {
  kDecentralized,  ///< Silo 4.2 (default)
  kGlobal,         ///< one shared counter: the paper's GlobalTID, for comparison only
};

/// When Database::released_epoch() lets a result be shown.
enum class Release : std::uint8_t {
  kDurable,  ///< once it survives power loss (default): its epoch is on the device of every logger
  kCommit,   ///< at commit: it survives the process, but not power loss, until its epoch is durable
};

/// What log files are compressed with.
enum class LogCompression : std::uint8_t { kNone, kLz4, kZstd };

/// Whether commits try hardware transactional memory before they take locks.
enum class Htm : std::uint8_t {
  kAuto,  ///< Intel TSX if this processor runs it, else off
  kRtm,   ///< Intel TSX; open() fails where it does not run
  kSim,   ///< a simulation, to test the code on any machine; only in builds with test hooks
  kOff,   ///< locks only
};

/// Describes the simulated HTM; the defaults are a first-level cache of 32 KiB. It counts the lines of records, of
/// versions of leaves and of other words that a region checks or stores, but not the index nodes that a search goes
/// through, nor the bytes of the log. So regions abort for lack of capacity less often than on hardware.
struct HtmSimulation {
  std::uint32_t sets = 64;                  ///< of the cache that holds written lines; 1 to 65536
  std::uint32_t ways = 8;                   ///< lines of a set; 1 to 64
  std::uint32_t lines = 4096;               ///< that a region may read and write in all; 1 to 65536
  std::uint32_t spurious_per_thousand = 0;  ///< regions that end without a reason; 0 to 1000
  std::uint64_t seed = 1;                   ///< of chance: which do, and where
};

/// How far a recovery is. A checkpoint is loaded first, and then the log is replayed, whose bytes are counted anew.
struct RecoveryProgress {
  std::uint64_t bytes_done = 0;  ///< read so far, of the checkpoint or of the log
  std::uint64_t bytes_all = 0;   ///< of the log; 0 as long as the checkpoint is loaded, whose size is not known before
};

struct Options {
  // --- durability (Silo 4.10). No path holds a NUL byte. ---

  /// Where the database lives on disk; made if it is not there, with the directories above it, recovered from if it is.
  /// Empty: memory only, nothing survives the process.
  std::string directory = {};
  /// Where logger i writes its segments: the (i mod size)th. Empty: in `directory`. Best on devices of their own. Each
  /// is made if it is not there, with the directories above it, as `directory` is.
  std::vector<std::string> log_directories = {};
  /// Where the workers' log rings are, in a directory of the database's own: memory that survives the process, not the
  /// machine. Empty: /dev/shm. A plain directory works as well. It is made if it is not there, as `directory` is.
  std::string reliable_directory = {};
  /// Logger threads; 1 to 64. Each serves the workers whose number is its own modulo this.
  std::uint32_t loggers = 1;
  /// Bytes of each worker's ring; 64 KiB to 1 GiB, rounded up to a power of two. A transaction must fit in.
  std::uint64_t ring_bytes = std::uint64_t{8} << 20;
  /// Bytes after which a logger begins a new segment; 64 KiB to 16 GiB. Segments are removed as a whole.
  std::uint64_t log_segment_bytes = std::uint64_t{64} << 20;
  /// Bytes of disk set aside for the log at open(), in whole segments, and again whenever a checkpoint frees some:
  /// while there are any, the log neither meets a full disk nor waits for an allocation. open() fails with kDiskFull if
  /// there is not so much. 0 to 16 TiB; 0 = none.
  std::uint64_t log_reserve_bytes = 0;
  Release release = Release::kDurable;
  LogCompression log_compression = LogCompression::kNone;
  /// Seconds between checkpoints; 0 to 1000000; 0 = only by Database::checkpoint(). Without any the log grows without
  /// bound.
  std::uint32_t checkpoint_interval_s = 300;
  /// Open although stored data at or below the durable epoch is damaged, and say in Database::recovery_report() what
  /// is lost. The default is to refuse.
  bool salvage = false;
  /// Called now and then while open() recovers, from its thread.
  std::function<void(const RecoveryProgress&)> recovery_progress = {};

  // --- the engine ---

  /// Milliseconds between epoch advances; 1 to 10000. Silo uses 40. A database has 2^34 epochs in its whole life: 21
  /// years of 40 ms, but 198 days of 1 ms; then nothing is written any more (AbortReason::kEpochsUsedUp).
  std::uint32_t epoch_ms = 40;
  /// K: a snapshot is taken every k epochs; 1 to 10000. Silo uses 25, so about one a second.
  std::uint32_t snapshot_epochs = 25;
  /// Epochs that a transaction may stay open before it is aborted at its next call (AbortReason::kOpenTooLong);
  /// 0 = no limit, at the price that one forgotten transaction stops garbage collection. Snapshots are exempt.
  std::uint32_t max_open_epochs = 10;
  /// Workers that may be registered at the same time; 1 to 256.
  std::uint32_t max_workers = 256;
  /// Bytes that records, versions and index nodes may take together; 8 MiB to 1024 TiB, and no more than the machine
  /// (or the control group) has; 0 = three quarters of that. Beyond it, operations report Outcome::kOutOfMemory.
  std::uint64_t memory_limit_bytes = 0;
  /// Bytes touched at open, so that no page fault meets a transaction; 0 to 1024 TiB, and no more than there are; 0 =
  /// none. Beyond that, while tables grow a thread touches up to 8 MiB ahead of what they take, unless memory may lie
  /// on several NUMA nodes.
  std::uint64_t prefault_bytes = 0;
  HugePages huge_pages = HugePages::kTry;
  /// NUMA node to place memory on; 0 to 63; -1 = where each worker first touches it.
  int numa_node = -1;
  /// Map all that memory as a memory file, so that other processes can (the fabric of one machine).
  bool shared_memory = false;
  Background background = Background::kThreads;

  /// Keep old versions so that Snapshot works (Silo 4.9).
  bool snapshots = true;
  /// Free unreachable nodes, versions and absent records (Silo 4.8). Off only to measure its cost.
  bool garbage_collection = true;
  /// Overwrite records in place where no snapshot needs the old bytes. Off only to measure (Fig. 11).
  bool overwrite_in_place = true;
  /// Malloc instead of per-worker slabs. Only to measure (Fig. 11): what the database holds when it closes is freed
  /// only with the process.
  bool simple_allocator = false;
  /// Concurrency control: how transactions read, validate and commit. "silo" (Silo 4.4 to 4.7), or "tictoc" (SIGMOD
  /// 2016), which aborts less where transactions contend, and keeps real time only between epochs: what begins after
  /// another's release is behind it, what begins after its commit need not be. "no_wait" and "dl_detect" are two-phase
  /// locking, to compare with, for at most 38 workers. These two have no shared tables and no cluster. "drtm" (SOSP
  /// 2015) runs all work of a transaction at its node in one HTM region, so `htm` must not be off; "silo" and "tictoc"
  /// can commit in one. All nodes of a cluster have the same protocol. Another opening of a directory may choose
  /// another one. docs/protocols.md compares them.
  std::string protocol = "silo";
  /// These three are optimizations of "tictoc" (SIGMOD 2016, 5.1 to 5.3), and are refused with another protocol. With
  /// this one a commit that finds a record claimed lets go of its own claims and claims all again, instead of waiting
  /// with them.
  bool tictoc_no_wait = false;
  /// With this one a commit looks whether its reads can pass at all before it claims anything.
  bool tictoc_preempt = false;
  /// With this one the database remembers when overwritten versions ended, so that a transaction which has read one may
  /// still commit before that time. Tables that are shared with other nodes remember nothing.
  bool tictoc_history = false;
  /// Commit times of one worker (a session) ascend: a transaction that begins after another one of its worker has
  /// ended is behind it in the serial order, and has a greater TID if both have written. Under "tictoc" some
  /// transactions get a later time for that, by which more of them abort; without it a worker's TIDs may descend within
  /// an epoch. The other protocols keep real time, so they do this anyway, and the option changes nothing. It holds for
  /// serializable transactions. Transactions of a worker that overlap, as those of Worker::run_many() do, may have any
  /// order.
  bool session_order = false;
  TidSource tid_source = TidSource::kDecentralized;
  /// Try to commit in one hardware transaction, without locks ("drtm": to run whole transactions in one); with locks if
  /// it aborts again and again. What really runs is in Statistics. Off by default, as it gained nothing on the
  /// processor that it was measured on (docs/performance.md, "Intel TSX").
  Htm htm = Htm::kOff;
  HtmSimulation htm_simulation = {};  ///< for Htm::kSim
  /// Log TIDs without what was written. Only to measure (Fig. 11): such a log cannot be recovered from, and is refused
  /// (kDamaged).
  bool small_log_records = false;

  // --- what it tells ---

  /// Takes what the database tells of its own accord, and what the node does whose database it is. Empty: it is printed
  /// on stderr.
  NoticeSink notices = {};
};

}  // namespace granary
