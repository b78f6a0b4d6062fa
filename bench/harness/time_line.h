#pragma once
// The time line of a run on several nodes, one of which is killed: what each worker ended when, in memory that the
// processes of all nodes share with the one that has started them. It outlives the killed process, whose figures would
// be lost otherwise, and the process that takes its place goes on in it.
//
// Time is cut into ticks of 5 ms, from when the measured window begins on all nodes. Each word has one writer at a
// time: a worker its ticks and its account, a node's runner what concerns the node, and who has started all the head.
// Everything is relaxed, since each figure stands for itself, and who sums up does so when the writers have ended.
//
// A node that is started by hand can have a time line of its own in a file (in_file()), for the life that takes its
// place.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <granary/status.h>

#include "src/base/cache_line.h"

namespace granary::bench {

inline constexpr std::uint64_t kTickNs = 5'000'000;
/// The descriptor at which a node finds the time line.
inline constexpr int kTimeLineDescriptor = 4;
inline constexpr std::uint32_t kMostTrackedWorkers = 16;
/// The most nodes, whose bits fit a word. A cluster file does not have more.
inline constexpr std::uint32_t kMostTrackedNodes = 64;

/// How a request ended.
enum class TickCount : std::uint8_t {
  kHere,       ///< done, on its own node alone
  kElsewhere,  ///< done, with the help of other nodes, but not of the victim
  kVictim,     ///< done, with the help of the victim
  kGaveUp,     ///< not done
  kAborted,    ///< attempts that failed, of all of these
};
inline constexpr std::size_t kTickCounts = 5;
using Tick = std::array<std::atomic<std::uint32_t>, kTickCounts>;

/// The changes of a worker's requests to the sums over the data that are checked afterwards (modulo 2^64).
/// A worker that is killed has at most one open request, of which nobody knows whether it was committed.
struct alignas(base::kCacheLine) WorkerAccount {
  static constexpr std::size_t kMostSums = 4;
  using Sums = std::array<std::atomic<std::uint64_t>, kMostSums>;
  Sums changed{};  ///< changes by requests that were committed
  Sums open{};     ///< changes by the request that may be committed now
};

/// The accounts of one life of a node.
struct LifeAccount {
  std::atomic<std::uint32_t> sums{0};  ///< the number of sums; 0 if the workload keeps no accounts
  WorkerAccount::Sums loaded{};
  std::array<WorkerAccount, kMostTrackedWorkers> workers;
};

struct TimeLineShape {
  std::uint32_t nodes = 0, workers = 0;  ///< workers of each node
  std::uint32_t victim = 0;              ///< place of the node that is killed among the nodes
  std::uint32_t returns = 0;             ///< whether it is started again
  std::uint64_t ticks = 0;
  bool operator==(const TimeLineShape&) const = default;
};

class TimeLine;

/// Notes a worker's requests in the time line.
class WorkerTrack {
 public:
  WorkerTrack(TimeLine& line, std::uint32_t node, std::uint32_t worker);
  /// Notes that a request has ended at `now_ns` (CLOCK_MONOTONIC). `others` has a bit for each other node that it
  /// needed.
  void note(std::uint64_t now_ns, bool done, std::uint64_t others, std::uint64_t aborted);

 private:
  TimeLine& line_;
  Tick* const ticks_;
  std::atomic<std::uint64_t>& victim_used_ns_;
};

class TimeLine {
 public:
  /// Makes a time line in memory of its own.
  static Result<std::unique_ptr<TimeLine>> make(const TimeLineShape& shape);
  /// Returns the time line at the descriptor. kInvalidArgument if there is none.
  static Result<std::unique_ptr<TimeLine>> at(int descriptor);
  /// Opens a time line in a file, for a node that is the only one to use it. Makes the file if there is none. Otherwise
  /// a life of the node that was killed has left it, the caller takes its place, and returned() says so.
  /// kFailedPrecondition if the file is of a run of another shape, of a life that was killed before the window began,
  /// or of one whose place has been taken before. kUnavailable if another process has it, or it cannot be written.
  static Result<std::unique_ptr<TimeLine>> in_file(const std::string& path, const TimeLineShape& shape);
  ~TimeLine();
  TimeLine(const TimeLine&) = delete;
  TimeLine& operator=(const TimeLine&) = delete;

  int descriptor() const { return descriptor_; }
  /// Removes the file at the end of the run, after which nobody takes the node's place any more.
  void remove_file();
  const TimeLineShape& shape() const { return head().shape; }
  std::uint64_t victim_bit() const { return std::uint64_t{1} << shape().victim; }

  /// Sets when the measured window begins on all nodes; begins_ns() is 0 until then.
  void begin(std::uint64_t now_ns) { head().begins_ns.store(now_ns, std::memory_order_relaxed); }
  std::uint64_t begins_ns() const { return head().begins_ns.load(std::memory_order_relaxed); }
  /// Notes when the victim was started again; restarted_ns() is 0 until then.
  void note_restart(std::uint64_t now_ns) { head().restarted_ns.store(now_ns, std::memory_order_relaxed); }
  std::uint64_t restarted_ns() const { return head().restarted_ns.load(std::memory_order_relaxed); }
  /// Whether the process that is the node now has taken the place of one that was killed.
  bool returned(std::uint32_t node) const { return node == shape().victim && restarted_ns() != 0; }

  /// Notes that D, up to which results are released, has moved on at the node.
  void note_released(std::uint32_t node, std::uint64_t now_ns);
  /// Returns when D first moved on in the tick; 0 if it did not.
  std::uint64_t released_ns(std::uint32_t node, std::uint64_t tick) const;
  /// Returns when a worker of the node first ended a request that needed the victim, after the victim had been started
  /// again; 0 if none did.
  std::uint64_t victim_used_ns(std::uint32_t node) const;
  /// Returns the count of all workers of the node.
  std::uint64_t count(std::uint32_t node, std::uint64_t tick, TickCount what) const;

  /// Returns the account of the node's present life.
  LifeAccount& account(std::uint32_t node);
  const LifeAccount& lost_account() const { return part(shape().victim).lives[0]; }

 private:
  friend class WorkerTrack;
  struct Head {
    std::uint64_t magic = 0;
    TimeLineShape shape;
    std::atomic<std::uint64_t> begins_ns{0}, restarted_ns{0};
  };
  struct NodePart {
    std::array<LifeAccount, 2> lives;
    std::array<std::atomic<std::uint64_t>, kMostTrackedWorkers> victim_used_ns{};
  };

  TimeLine(int descriptor, char* memory, std::size_t bytes) : descriptor_(descriptor), memory_(memory), bytes_(bytes) {}
  static Result<std::unique_ptr<TimeLine>> map(int descriptor, std::size_t bytes);
  Status take_over(const TimeLineShape& shape);
  static std::size_t bytes_of(const TimeLineShape& shape);
  Head& head() const { return *reinterpret_cast<Head*>(memory_); }
  NodePart& part(std::uint32_t node) const;
  /// Returns the ticks of the first worker; those of the others follow.
  Tick* ticks(std::uint32_t node) const;
  std::atomic<std::uint64_t>* releases(std::uint32_t node) const;

  const int descriptor_;
  char* const memory_;
  const std::size_t bytes_;
  std::string path_ = {};  ///< the path of the file, if there is one
};

}  // namespace granary::bench
