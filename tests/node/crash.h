#pragma once
// A cluster of three nodes that counts in one transaction after another, each of which writes at all nodes; of which
// one process is killed; and which is started again on its directories.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/node/bank.h"
#include "tests/node/counters.h"
#include "tests/node/crash_setting.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary::tests {

/// What a coordinator has told before it ended.
struct Told {
  std::vector<epoch::Epoch> epochs;  ///< of what has committed, one after the other
  std::uint64_t released = 0;        ///< so many of them
  std::string last;                  ///< line
};

inline Told read(const std::vector<std::string>& lines) {
  constexpr std::string_view kEpoch = "epoch ";
  Told told;
  for (const std::string& line : lines) {
    if (line.starts_with(kEpoch)) told.epochs.push_back(std::stoull(line.substr(kEpoch.size())));
    if (line == "released") told.released = told.epochs.size();
    told.last = line;
  }
  return told;
}

/// A cluster that dies, and is started again.
class Crash {
 public:
  /// `more`: lines of the cluster file's section of the cluster.
  explicit Crash(const Setting& setting, const std::string& more = {})
      : setting_(setting),
        file_(kBankNodes, 1, kShortSnapshotPeriods + more,
              "data_directory = \"data\"\nreliable_directory = \"rings\"\n") {}
  virtual ~Crash() = default;
  Crash(const Crash&) = delete;
  Crash& operator=(const Crash&) = delete;

  const ClusterFile& file() const { return file_; }

  /// Counts, and is killed at that point of the last transaction.
  CrashChild::Body dying_coordinator(NodeNumber node, const Death& death) {
    return coordinator(
        node, death,
        [this](const CrashChild::Report&) {
          before_death();
          die();
        },
        [death](Branch&, const CrashChild::Report& report) {
          if (is_loggers(death)) std::this_thread::sleep_for(std::chrono::seconds(10));
          report("has not died");
        });
  }
  /// Counts, and stands at that point of the last transaction until somebody else is dead.
  CrashChild::Body standing_coordinator(NodeNumber node, const Death& death) {
    const auto stand = [this](const CrashChild::Report& report) {
      report("stands");
      (void)comes_true([this] { return flags_.dead.load(); });
      if (setting_.noticed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    return coordinator(node, death, stand, [this](Branch& branch, const CrashChild::Report& report) {
      report("has ended");
      stay(branch, report);
    });
  }
  /// Does nothing but what others do to it.
  CrashChild::Body bystander(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch = open(node);
      report("runs");
      stay(branch, report);
    };
  }

  /// The same; its log gets no further once it has been told so.
  CrashChild::Body bystander_with_late_log(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      base::set_process_sync_hook([this](std::string_view at) {
        if (!flags_.late || at != "logger.synced") return;
        flags_.stands = true;
        (void)comes_true([] { return false; });
      });
      bystander(node)(report);
    };
  }
  /// Counts while that log stands still, tells whether the last transaction counts as released, and is killed when its
  /// own log has it.
  CrashChild::Body coordinator_with_own_log(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      static std::atomic<int> published{-1};  // since it is to be counted
      base::set_process_sync_hook([](std::string_view at) {
        if (published >= 0 && at == "logger.published" && ++published == 2) die();
      });
      Branch branch = open(node);
      count_rounds(branch, report);
      flags_.late = true;
      (void)comes_true([this] { return flags_.stands.load(); });
      const Ticket last = count(branch, report).ticket;
      // What is published when E is that far may be of the epoch before, the next time not any more.
      while (branch.worker->run([&](Transaction& t) { (void)t.get(branch.accounts, first_of(2)); }).ticket.epoch <
             last.epoch + 3) {
      }
      report(release_of(branch.cluster->database(), last));
      published = 0;
      std::this_thread::sleep_for(std::chrono::seconds(10));
      report("has not died");
    };
  }

  void begin() { flags_.ready = true; }
  void somebody_died() { flags_.dead = true; }
  /// Those that are left.
  void end(std::initializer_list<CrashChild*> others) {
    flags_.over = true;
    for (CrashChild* const other : others) {
      if (!setting_.in_order) {
        other->kill();
        continue;
      }
      EXPECT_EQ(other->wait().exit_code, 0);
      EXPECT_EQ(other->lines().back(), "left: ");
    }
  }

  /// D of a node's own log.
  epoch::Epoch durable(NodeNumber node) const {
    const auto logs = recovery::scan_logs(base::system_files(), manifest_of(file_, node), {});
    EXPECT_TRUE(logs.ok()) << logs.status().message();
    return logs.ok() ? logs->durable : 0;
  }
  /// Takes the rings away, of nodes that have not ended in order. Up to where the logs of these nodes, which are all
  /// there is, count.
  epoch::Epoch lose_power(const std::vector<NodeNumber>& nodes) {
    epoch::Epoch least = ~epoch::Epoch{0};
    for (const NodeNumber node : nodes) {
      least = std::min(least, durable(node));
      EXPECT_GT(std::filesystem::remove_all(manifest_of(file_, node).reliable_directory), 1u) << "rings";
    }
    return least;
  }

  /// The counters after the whole cluster has been started again; empty if they do not agree, or something is not as it
  /// was.
  std::optional<std::uint64_t> start_again() {
    CrashChild first(started_again(1)), second(started_again(2)), third(started_again(3));
    std::optional<std::uint64_t> found;
    for (CrashChild* const child : {&first, &second, &third}) {
      EXPECT_TRUE(child->run_until("done"));
      const std::vector<std::string>& lines = child->lines();
      const bool number = !lines.empty() && lines[0].find_first_not_of("0123456789") == std::string::npos;
      if (!number) {
        ADD_FAILURE() << (lines.empty() ? "it does not start again" : lines[0]);
        return std::nullopt;
      }
      found = std::stoull(lines[0]);
      EXPECT_THAT(lines, testing::ElementsAre(lines[0], "writes all", std::to_string(*found + kBankNodes), "done"));
    }
    return found;
  }

 protected:
  const Setting& setting() const { return setting_; }
  /// Called by a coordinator when all has been released that it has counted, and it will count twice more.
  virtual void before_last() {}
  /// Called by a coordinator that is about to die.
  virtual void before_death() {}
  virtual ClusterOptions options(NodeNumber node) const {
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    ClusterOptions options = node_options(file_, node);
    options.database.ring_bytes = kSmall;
    options.database.log_segment_bytes = kSmall;
    options.database.protocol = setting_.by_times ? "tictoc" : "silo";
    options.recovers_others = false;  // all end, and the whole cluster is recovered
    return options;
  }
  Branch open(NodeNumber node, bool load = true) const {
    return Branch(options(node), load, {}, nullptr, setting_.index);
  }
  /// Goes on for as long as the others need this node, and ends.
  virtual void stay(Branch& branch, const CrashChild::Report& report) {
    (void)comes_true([this] { return flags_.over.load(); });
    if (!setting_.in_order) (void)comes_true([] { return false; });
    leave(branch, report);
  }
  static void leave(Branch& branch, const CrashChild::Report& report) {
    branch.worker.reset();
    report("left: " + branch.cluster->leave().message());
  }

 private:
  /// "released", or "held back" if both the wait and the epoch say that it is not. The leader of epochs has several
  /// turns meanwhile.
  static std::string release_of(const Database& database, const Ticket& ticket) {
    constexpr std::uint64_t kPatience_us = 300'000;
    const bool waited = database.wait_released(ticket, kPatience_us).ok();
    return waited || database.released_epoch() >= ticket.epoch ? "released" : "held back";
  }
  /// Whether the point is passed by the thread that writes the log.
  static bool is_loggers(const Death& death) { return death.point.starts_with("logger."); }

  /// Counts, and acts once at that point of the last transaction; `rest` follows when that has ended.
  CrashChild::Body coordinator(NodeNumber node, const Death& death,
                               const std::function<void(const CrashChild::Report&)>& act,
                               const std::function<void(Branch&, const CrashChild::Report&)>& rest) {
    return [this, node, death, act, rest](const CrashChild::Report& report) {
      static std::atomic<bool> armed{false};  // for threads that the node began before
      base::set_process_sync_hook([&](std::string_view at) {
        if (at == death.point && armed.exchange(false)) act(report);
      });
      Branch branch = open(node);
      count_rounds(branch, report);
      if (is_loggers(death)) {
        base::set_sync_hook(at({"across.logged"}, [] { armed = true; }));
      } else {
        base::set_sync_hook(at(death, [&] { act(report); }));
      }
      const RunResult last = count(branch, report);
      constexpr std::string_view kReleased = "test.released";
      if (death.point == kReleased && branch.cluster->database().wait_released(last.ticket).ok())
        base::sync_point(kReleased);
      base::set_sync_hook({});
      rest(branch, report);
    };
  }
  RunResult count(Branch& branch, const CrashChild::Report& report) {
    const RunResult done = count_up(branch, setting_.locking);
    report(done.committed() ? fmt::format("epoch {}", done.ticket.epoch) : std::string(name(done.reason)));
    return done;
  }
  /// All of these rounds but the last one are surely released. A node that counts once more overwrites versions that
  /// snapshots may need.
  void count_rounds(Branch& branch, const CrashChild::Report& report) {
    report("runs");
    (void)comes_true([this] { return flags_.ready.load(); });
    RunResult done;
    for (std::uint64_t round = 0; round < setting_.rounds; ++round) done = count(branch, report);
    if (branch.cluster->database().wait_released(done.ticket).ok()) report("released");
    before_last();
    await_next_period(branch, count(branch, report).ticket.epoch);
  }
  CrashChild::Body started_again(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch = open(node, /*load=*/false);
      report(look(branch));
      (void)branch.cluster->barrier();
      report(write_all(branch));
      (void)branch.cluster->barrier();
      report(look(branch));
      (void)branch.cluster->barrier();
      report("done");
      (void)comes_true([] { return false; });
    };
  }

  struct Flags {
    std::atomic<bool> ready{false}, dead{false}, over{false};
    std::atomic<bool> late{false}, stands{false};  ///< the log of one node
  };
  const Setting setting_;
  const ClusterFile file_;
  Flags& flags_ = map_shared<Flags>();
};

}  // namespace granary::tests
