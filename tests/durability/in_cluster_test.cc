// A database as a node of a cluster, whose leader and other nodes the test plays: D, checkpoints and the log are the
// cluster's business. Not covered: real leaders (tests/cluster/cluster_epoch).

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "recovery/lock_ahead.h"
#include "recovery/manifest.h"
#include "recovery/surviving_rings.h"
#include "src/base/file.h"
#include "src/cc/log_entry.h"
#include "src/db/dead_node.h"
#include "src/db/engine.h"
#include "src/epoch/control_block.h"
#include "src/log/format.h"
#include "src/record/state_word.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class DatabaseInCluster : public testing::Test {
 protected:
  DatabaseInCluster() {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
    open();
  }
  void open() {
    control_ = std::make_unique<epoch::ControlBlock>();
    database_ =
        std::make_unique<Database>(db::Engine::open(options_, *files_, {.control = control_.get(), .node = 1}).value());
    control_->by_leader.admitted.store(1);
    control_->by_node.serving.store(1);
    table_ = database_->create_table("t").value();
  }
  /// As a node that crashed, in the next process.
  void open_again() {
    database_.reset();
    open();
  }
  /// What the leader does once all nodes have arrived in E; D is left to the test.
  void advance(int epochs = 1) {
    for (int i = 0; i < epochs; ++i) {
      database_->step();
      ASSERT_EQ(control_->by_node.oldest.load(), control_->by_leader.epoch.load());
      control_->by_leader.epoch.fetch_add(1);
    }
    database_->step();
  }
  Ticket put(std::string_view key, std::string_view value) {
    Worker worker = database_->register_worker().value();
    RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table_, key, value)); });
    EXPECT_TRUE(done.committed());
    return done.ticket;
  }
  std::optional<std::string> get(std::string_view key) {
    Worker worker = database_->register_worker().value();
    std::optional<std::string> found;
    static_cast<void>(worker.run([&](Transaction& t) {
      std::string value;
      found.reset();
      if (t.get(table_, key, value) == Outcome::kOk) found = value;
    }));
    return found;
  }
  bool has_checkpoint() const {
    const std::filesystem::directory_iterator entries(options_.directory);
    return std::any_of(begin(entries), end(entries), [](const auto& entry) {
      return entry.path().filename().string().starts_with(recovery::kCheckpointPrefix);
    });
  }
  std::size_t segments_of_generation(std::uint64_t generation) const {
    std::size_t count = 0;
    const std::string prefix = log::segment_name(generation, 0, 0).substr(0, sizeof "log-g00000001" - 1);
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory))
      count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    return count;
  }

  TemporaryDirectory directory_;
  RingDirectory rings_;
  Options options_ = manual_options();
  base::FileSystem* files_ = &base::system_files();
  std::unique_ptr<epoch::ControlBlock> control_;
  std::unique_ptr<Database> database_;
  Table table_;
};

TEST_F(DatabaseInCluster, ResultsAreReleasedWhenAllNodesHaveThem) {
  const Ticket ticket = put("key", "value");
  advance(3);
  EXPECT_GE(control_->by_node.durable.load(), ticket.epoch) << "here it is durable";
  EXPECT_LT(database_->released_epoch(), ticket.epoch) << "not everywhere";
  std::thread leader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    control_->by_leader.durable.store(ticket.epoch);
  });
  EXPECT_TRUE(database_->wait_released(ticket).ok());
  EXPECT_EQ(database_->released_epoch(), ticket.epoch);
  EXPECT_EQ(database_->statistics().durable_epoch, ticket.epoch);
  leader.join();
}

TEST_F(DatabaseInCluster, WhoWaitsIsToldThatTheNodeIsNoMember) {
  const Ticket ticket = put("key", "value");
  advance(3);
  control_->by_node.serving.store(0);
  EXPECT_EQ(database_->wait_released(ticket).code(), StatusCode::kMembershipLost);
}

/// A node that waits for others has loaded what it saw of their logs. A checkpoint would make that all it ever reads of
/// them.
TEST_F(DatabaseInCluster, ThereIsNoCheckpointBeforeItServes) {
  control_->by_node.serving.store(0);
  EXPECT_EQ(database_->checkpoint().code(), StatusCode::kUnavailable);
}

TEST_F(DatabaseInCluster, ClosingMakesTheLastEpochDurableAlthoughItCannotEndIt) {
  const Ticket ticket = put("key", "value");
  EXPECT_EQ(ticket.epoch, control_->by_leader.epoch.load());
  ASSERT_TRUE(database_->close().ok());
  EXPECT_EQ(control_->by_leader.epoch.load(), ticket.epoch);
  open_again();
  EXPECT_GE(database_->recovery_report().durable_epoch, ticket.epoch);
  EXPECT_FALSE(database_->recovery_report().rings);
  EXPECT_EQ(get("key"), "value");
  EXPECT_GT(control_->by_leader.epoch.load(), ticket.epoch);
}

TEST_F(DatabaseInCluster, WritesOfOtherNodesRecordsAreLoggedAndLeftToThem) {
  put("mine", "1");
  const auto core = database_->engine().workers().take().value();
  const std::vector<cc::RemoteWrite> elsewhere = {{.node = 7, .table = 5, .key = "theirs", .value = "2"},
                                                  {.node = 8, .table = 0, .key = "mine", .value = "", .remove = true}};
  const cc::LoggedWrites writes{{}, elsewhere};
  ASSERT_EQ(cc::reserve_log(writes, core->state()), AbortReason::kNone);
  core->state().ring->publish(
      cc::write_log_entry(writes, core->state(), record::make_tid(control_->by_leader.epoch.load(), 99)));
  database_->engine().workers().give_back(core);
  advance(3);
  ASSERT_TRUE(database_->close().ok());

  log::SegmentHeader header;
  std::ifstream(options_.directory + "/" + log::segment_name(1, 0, 0), std::ios::binary)
      .read(reinterpret_cast<char*>(&header), sizeof header);
  EXPECT_EQ(header.version, log::kClusterFormatVersion);
  open_again();
  EXPECT_EQ(database_->recovery_report().transactions, 2u);
  EXPECT_EQ(get("mine"), "1") << "the removed one is node 8's";
  EXPECT_FALSE(get("theirs"));
}

/// A node that ends with debts has not ended in order: its rings name them, and it is recovered before it opens again.
TEST_F(DatabaseInCluster, WhatIsLeftLockedElsewhereIsNamedAfterClosing) {
  put("key", "value");
  const auto core = database_->engine().workers().take().value();
  {
    log::NamedLocks record(core->state().ring->lock_ahead());
    ASSERT_TRUE(record.reserve(log::named_bytes(3)));
    record.add({.word = record::x_lock_word({.node = 1, .generation = 1, .worker = 0, .sequence = 1}),
                .node = 2,
                .table = 0,
                .key = "key"});
    record.publish();
  }
  database_->engine().workers().give_back(core);
  advance(3);
  ASSERT_TRUE(database_->close().ok());
  const auto left = [this] {
    const auto manifest = recovery::read_manifest(base::system_files(), options_.directory);
    const auto rings = recovery::find_rings(*manifest);
    std::size_t locks = 0;
    for (const auto& ring : rings->rings) {
      const auto unfinished = recovery::read_lock_ahead(*ring);
      for (const auto& transaction : *unfinished) locks += transaction.locks.size();
    }
    return locks;
  };
  EXPECT_EQ(left(), 1u);
  EXPECT_TRUE(database_->engine().owes());
  database_.reset();
  {
    const auto dead = db::DeadNode::open(options_, base::system_files());
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_EQ((*dead)->debts().size(), 1u);
    ASSERT_TRUE((*dead)->adopt(control_->by_leader.epoch.load()).ok());
  }
  EXPECT_EQ(left(), 0u);
  open_again();
  EXPECT_EQ(get("key"), "value");
}

TEST_F(DatabaseInCluster, LogsStayUntilEveryNodeHasACheckpoint) {
  put("key", "1");
  advance();
  ASSERT_TRUE(database_->close().ok());
  open_again();
  advance(12);
  EXPECT_EQ(database_->checkpoint().code(), StatusCode::kUnavailable) << "not durable everywhere";
  EXPECT_FALSE(has_checkpoint()) << "nobody will ever name it";
  control_->by_leader.durable.store(control_->by_leader.epoch.load() - 2);
  ASSERT_TRUE(database_->checkpoint().ok());
  const epoch::Epoch checkpoint = control_->by_node.checkpoint.load();
  EXPECT_GT(checkpoint, 0u);
  EXPECT_EQ(segments_of_generation(1), 1u) << "it may hold writes of other nodes' records";

  control_->by_leader.checkpoint.store(checkpoint);
  advance(12);
  control_->by_leader.durable.store(control_->by_leader.epoch.load() - 2);
  ASSERT_TRUE(database_->checkpoint().ok());
  EXPECT_GT(control_->by_node.checkpoint.load(), checkpoint);
  EXPECT_EQ(segments_of_generation(1), 0u);
  open_again();
  EXPECT_EQ(get("key"), "1");
}

/// The thread that takes them waits as long as it has to; while it does, the node is cut off.
TEST_F(DatabaseInCluster, ACheckpointThatIsGivenUpLeavesNothing) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  options_.background = Background::kThreads;
  options_.checkpoint_interval_s = 0;
  open_again();
  put("key", "value");
  for (int i = 0; i < 12; ++i) {
    while (control_->by_node.oldest.load() != control_->by_leader.epoch.load()) std::this_thread::yield();
    control_->by_leader.epoch.fetch_add(1);
  }
  const AtSyncPoint cut_off("checkpoint.written", [this] {
    EXPECT_TRUE(has_checkpoint());
    control_->by_node.serving.store(0);
  });
  const Status given_up = database_->engine().checkpoint(log::DurableEpoch::kForever);
  EXPECT_EQ(given_up.code(), StatusCode::kMembershipLost) << given_up.message();
  EXPECT_FALSE(has_checkpoint());
}

/// The others' logs stay until they hear of it. Whatever becomes of what it replaces, the manifest names it.
TEST_F(DatabaseInCluster, ACheckpointIsToldAlthoughTheFormerOneCannotBeRemoved) {
  FaultFiles files;
  files.pass_through(rings_.path());
  files_ = &files;
  options_.directory = "/db";
  open_again();
  const auto checkpoint = [this] {
    put("key", "value");
    advance(12);
    control_->by_leader.durable.store(control_->by_leader.epoch.load() - 2);
    return database_->checkpoint();
  };
  ASSERT_TRUE(checkpoint().ok());
  const epoch::Epoch former = control_->by_node.checkpoint.load();
  files.plan({.call = FileCall::kRemove, .path = "checkpoint-", .from_then_on = true});
  EXPECT_EQ(checkpoint().code(), StatusCode::kIoError);
  const auto named = recovery::read_manifest(files, options_.directory)->checkpoint->epoch;
  EXPECT_GT(named, former);
  EXPECT_EQ(control_->by_node.checkpoint.load(), named);
  database_.reset();
}

/// Without the file MEMBER, too: alone it would be a part of a cluster's data that looks whole.
TEST(DatabaseOfANode, IsNotOpenedAlone) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options;
  options.directory = directory / "db";
  options.reliable_directory = rings.path();
  options.background = Background::kManual;
  {
    epoch::ControlBlock control;
    const auto node = db::Engine::open(options, base::system_files(), {.control = &control, .node = 1, .life = 1});
    ASSERT_TRUE(node.ok()) << node.status().message();
  }
  const std::string manifest = options.directory + "/MANIFEST";
  const auto before = base::read_file(base::system_files(), manifest).value();
  for (const bool salvage : {false, true}) {
    options.salvage = salvage;
    const Status opened = Database::open(options).status();
    EXPECT_EQ(opened.code(), StatusCode::kDamaged) << opened.message();
    EXPECT_NE(opened.message().find("/db/MEMBER'"), std::string::npos) << opened.message();
  }
  EXPECT_EQ(base::read_file(base::system_files(), manifest).value(), before) << "a refusal changes nothing";
}

}  // namespace
}  // namespace granary::tests
