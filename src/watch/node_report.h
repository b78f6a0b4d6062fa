#pragma once
// The report of one node on itself. Metrics, the node's document and the page are made from it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/cluster_statistics.h>
#include <granary/database.h>

namespace granary::watch {

/// How far the node's life has come.
enum class Stage : std::uint8_t {
  kJoining,     ///< it waits to become a member
  kRecovering,  ///< it is a member, and opens its database
  kStarting,    ///< it waits for the other nodes, or loads what it missed
  kServing,
  kLeaving,
};
inline constexpr std::array<std::string_view, 5> kStages = {"joining", "recovering", "starting", "serving", "leaving"};
constexpr std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

/// A member as the newest configuration has it.
struct MemberReport {
  NodeNumber node = 0;
  std::uint32_t generation = 0;
  std::string state = {};  ///< "joining", "ready", "serving", "left", "dead"
  std::string release = {};
};

/// A recovery that is under way, or is over, with its phase as a word.
struct RecoveryState {
  NodeRecovery recovery;
  std::string phase = {};
  // These two are set if this node does the recovery at present.
  std::string directory = {};  ///< where the life has left its data
  std::uint64_t rests_us = 0;  ///< for how long the recovery has waited for the directory's device; 0: it does not
};

/// The newest configuration that this node knows.
struct MembershipReport {
  std::uint64_t cluster_id = 0;
  std::uint64_t version = 0;  ///< the version of the document
  std::uint64_t number = 0;   ///< the number of changes in which a life began or ended
  NodeNumber leader = 0;      ///< the leader of epochs; 0: nobody
  std::vector<MemberReport> members = {};
  std::string lost = {};  ///< why this node is no member any more; empty if it is one
  /// Whether the node may commit now. It may not while its membership cannot be confirmed, since ZooKeeper does not
  /// answer, or if others have condemned it.
  bool commits = true;
};

struct EpochReport {
  std::uint64_t current = 0;       ///< E
  std::uint64_t durable = 0;       ///< the cluster's D; without logs it follows E, and tells nothing
  std::uint64_t durable_here = 0;  ///< the epoch up to which this node is durable; without logs it tells nothing
  std::uint32_t period_ms = 0;
  bool logs = false;  ///< whether results wait for D

  /// Returns D, or how far this node is durable, as they are shown; 0 without logs.
  std::uint64_t shown_durable() const { return logs ? durable : 0; }
  std::uint64_t shown_durable_here() const { return logs ? durable_here : 0; }
  /// Returns E - D; 0 without logs.
  std::uint64_t lag() const { return logs && current > durable ? current - durable : 0; }
};

struct ProcessReport {
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  std::uint64_t threads = 0;
  std::uint64_t open_files = 0;
  double started_unix_s = 0;
};
/// Returns the report on this process.
ProcessReport look_at_process();

struct NodeReport {
  std::string cluster = {};
  NodeNumber node = 0;
  std::string host = {};
  std::string release = {};
  std::uint32_t generation = 0;  ///< the number of the node's life; 0 before it is a member
  Stage stage = Stage::kJoining;
  ProcessReport process = {};
  // Each of these is set from the stage on in which there is one.
  std::optional<MembershipReport> membership = {};
  std::optional<Statistics> database = {};
  std::optional<ClusterStatistics> elsewhere = {};
  std::optional<ClockStatus> clock = {};
  EpochReport epochs = {};
  std::vector<RecoveryState> recoveries = {};
  std::string log_trouble = {};      ///< why nothing becomes durable; empty if the log works
  std::string release_trouble = {};  ///< why no result is released at present; empty if results are
};

/// Returns why the process counts as stuck; empty if it does not.
std::string why_stuck(const NodeReport& report);
/// Returns why the node is not to be given work; empty if it serves and may commit.
std::string why_not_ready(const NodeReport& report);

}  // namespace granary::watch
