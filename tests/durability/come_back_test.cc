// A node that comes back while the other nodes serve: from their logs, which they go on writing, it takes the writes of
// its records up to the epoch that it was told, also while they complete checkpoints. Not covered: who tells it.

#include <fmt/format.h>

#include "src/base/interruptible_files.h"
#include "tests/durability/cluster_rig.h"

namespace granary::tests {
namespace {

class ComeBack : public ClusterRecovery {
 protected:
  static constexpr std::uint32_t kBack = 1;

  void TearDown() override { nodes_.clear(); }  // while the files are there that they use

  /// Opens node 1 with what counts of the other logs; several hosts send theirs once it is there.
  Status come_back(epoch::Epoch up_to) { return come_back(up_to, up_to); }
  /// Of node 2's log so much counts, or all of it.
  Status come_back(epoch::Epoch up_to, std::optional<epoch::Epoch> of_node_2) {
    Node& node = nodes_[kBack];
    node.control = std::make_unique<epoch::ControlBlock>();
    db::ClusterPart part{.control = node.control.get(), .node = kBack, .life = 2, .notes_admission = true};
    if (several_hosts()) {
      part.others_elsewhere = true;
      part.first_epoch = db::first_epoch_behind(up_to, options(kBack).snapshot_epochs);
    } else {
      part.others = {{path(0), up_to}, {path(2), of_node_2}};
    }
    auto engine = db::Engine::open(options(kBack), stepped_, part);
    if (!engine.ok()) return engine.status();
    node.database = std::make_unique<Database>(std::move(*engine));
    node.table = node.database->create_table("t").value();
    return several_hosts() ? take_sent(up_to, of_node_2) : Status();
  }
  Status take_sent(epoch::Epoch up_to, std::optional<epoch::Epoch> of_node_2) {
    db::Engine& engine = nodes_[kBack].database->engine();
    own_steps_ = steps_;
    for (const std::uint32_t other : {0u, 2u}) {
      ReadByMessages theirs(static_cast<rdma::NodeId>(other), path(other));
      const db::OtherLog log{db::RemoteFiles::kDirectory, other == 2 ? of_node_2 : up_to};
      base::InterruptibleFiles stepped(theirs.files(), [this] { return step(); });
      if (Status taken = engine.take_from(stepped, log); !taken.ok()) return taken;
    }
    return engine.have_all();
  }
  /// Ends the node that comes back later, after a checkpoint of its own.
  void leave_with_checkpoint() {
    for (int epochs = 0; epochs < 12; ++epochs) advance();
    ASSERT_TRUE(checkpoint(kBack).ok());
    ASSERT_TRUE(nodes_[kBack].database->close().ok());
    nodes_[kBack].database.reset();
  }
  /// Something else happens before a step of the node that comes back.
  void at_step(unsigned step, std::function<void()> act) {
    steps_ = 0;
    act_at_ = step;
    act_ = std::move(act);
  }
  bool step() {
    if (++steps_ == act_at_) act_();
    return false;
  }
  /// A checkpoint of a node that runs, as if all had made theirs durable and node 1 had its own.
  Status checkpoint(std::uint32_t node) {
    epoch::ControlBlock& control = *nodes_[node].control;
    control.by_leader.durable.store(control.by_leader.epoch.load() - 2);
    if (const auto& made = manifest(kBack).checkpoint; made) control.by_leader.checkpoint.store(made->epoch);
    return nodes_[node].database->engine().checkpoint();
  }
  bool has(const std::string& key) {
    Node& node = nodes_[kBack];
    Worker worker = node.database->register_worker().value();
    bool found = false;
    static_cast<void>(worker.run([&](Transaction& t) {
      std::string value;
      found = t.get(node.table, key, value) == Outcome::kOk;
    }));
    return found;
  }
  void others_advance() {
    for (const std::uint32_t other : {0u, 2u}) {
      nodes_[other].control->by_leader.epoch.fetch_add(1);
      nodes_[other].database->step();
    }
  }
  /// Node 1 ends; the others go on for some epochs. Returns the epoch up to which their logs are synced.
  epoch::Epoch others_go_on() {
    open_all();
    put_everywhere(0, "old");
    put_everywhere(kBack, "removed");
    advance();
    advance();
    EXPECT_TRUE(nodes_[kBack].database->close().ok());
    nodes_[kBack].database.reset();
    put_everywhere(0, "new0");
    put_everywhere(2, "new2");
    put_everywhere(2, "removed", /*remove=*/true);
    const epoch::Epoch up_to = nodes_[0].control->by_leader.epoch.load();
    others_advance();
    put_everywhere(0, "later");
    others_advance();
    return up_to;
  }

  unsigned steps_ = 0;      ///< that the node has made: opening and reading files
  unsigned own_steps_ = 0;  ///< those of them before the others sent anything
  unsigned act_at_ = 0;     ///< 0: nothing happens
  std::function<void()> act_;
  base::InterruptibleFiles stepped_{base::system_files(), [this] { return step(); }};
};

INSTANTIATE_TEST_SUITE_P(Hosts, ComeBack, testing::Values(Hosts::kOne, Hosts::kSeveral),
                         [](const auto& one) { return one.param == Hosts::kOne ? "One" : "Several"; });

TEST_P(ComeBack, ItHasWhatTheOthersWroteUpToTheEpoch) {
  const epoch::Epoch up_to = others_go_on();
  ASSERT_TRUE(come_back(up_to).ok());
  for (const char* key : {"old", "new0", "new2"}) EXPECT_TRUE(has(key)) << key;
  EXPECT_FALSE(has("removed"));
  EXPECT_FALSE(has("later")) << "it is in the log, behind the epoch";
  const auto& loaded = nodes_[kBack].database->engine().loaded_logs();
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded[0].directory, path(kBack));
  EXPECT_FALSE(loaded[0].up_to);
  for (const std::size_t other : {1, 2}) {
    EXPECT_EQ(loaded[other].up_to, up_to);
    EXPECT_GT(loaded[other].records, 0u);
    EXPECT_NE(to_text(loaded[other]).find(fmt::format("up to epoch {}: ", up_to)), std::string::npos);
  }
  EXPECT_GT(nodes_[kBack].database->current_epoch(), up_to) << "its own transactions come behind all of it";
}

/// A log that has not come so far yet: nothing is lost, and the same call works later.
TEST_P(ComeBack, ItWaitsForALogThatIsNotThereYet) {
  others_go_on();
  put_everywhere(2, "newest");
  const epoch::Epoch up_to = nodes_[0].control->by_leader.epoch.load();
  const Status early = come_back(up_to);
  EXPECT_EQ(early.code(), StatusCode::kUnavailable) << early.message();
  EXPECT_NE(early.message().find(fmt::format("has not synced up to epoch {} yet", up_to)), std::string::npos);
  others_advance();
  others_advance();
  ASSERT_TRUE((several_hosts() ? take_sent(up_to, up_to) : come_back(up_to)).ok());
  EXPECT_TRUE(has("newest"));
  EXPECT_TRUE(has("later"));
  EXPECT_FALSE(has("removed"));
}

/// It has the newest version of each record only: what a snapshot of an earlier epoch sees is not there any more (I16).
TEST_P(ComeBack, ItsSnapshotsAndCheckpointsAreBehindAllThatItLoaded) {
  const epoch::Epoch up_to = others_go_on();
  ASSERT_TRUE(come_back(up_to).ok());
  Node& node = nodes_[kBack];
  const epoch::EpochManager& epochs = node.database->engine().epochs();
  for (epoch::Epoch epoch = 1; epoch <= up_to; ++epoch) EXPECT_FALSE(epochs.keeps_snapshot(epoch)) << epoch;
  EXPECT_TRUE(epochs.keeps_snapshot(up_to + 1));
  EXPECT_GT(epochs.snapshot_of(epochs.current()), up_to);
  Worker worker = node.database->register_worker().value();
  std::string value;
  EXPECT_EQ(worker.snapshot().get(node.table, "new2", value), Outcome::kOk);
  node.control->by_leader.durable.store(epochs.current());  // as the leader says, as soon as all nodes have it
  node.control->by_node.serving.store(1);
  ASSERT_TRUE(node.database->engine().checkpoint().ok());
  EXPECT_GT(manifest(kBack).checkpoint->epoch, up_to);
}

/// Node 2 has died meanwhile, too, and its log was ended when the epochs were far ahead; but nothing in it is of so
/// late an epoch.
TEST_P(ComeBack, ItTakesALogThatWasEndedLongAfterItsLastTransaction) {
  const epoch::Epoch up_to = others_go_on();
  for (int epochs = 0; epochs < 40; ++epochs) others_advance();
  EXPECT_TRUE(nodes_[2].database->close().ok());
  nodes_[2].database.reset();
  const Status back = come_back(up_to, {});
  ASSERT_TRUE(back.ok()) << back.message();
  for (const char* key : {"old", "new0", "new2"}) EXPECT_TRUE(has(key)) << key;
  EXPECT_FALSE(has("removed"));
}

/// Another node's checkpoint removes a part of its log that node 1 has in its own checkpoint, at every step of node 1.
TEST_P(ComeBack, TheOthersMakeCheckpointsMeanwhile) {
  constexpr unsigned kMostSteps = 1'000;
  for (unsigned step = 1;; ++step) {
    ASSERT_LT(step, kMostSteps);
    SCOPED_TRACE(step);
    nodes_.clear();
    for (std::uint32_t node = 0; node < kNodes; ++node) std::filesystem::remove_all(path(node));
    open_all();
    put_everywhere(0, "old");
    advance();
    advance();
    close_all();
    open_all();
    ASSERT_NO_FATAL_FAILURE(leave_with_checkpoint());
    put_everywhere(0, "new0");
    const epoch::Epoch up_to = nodes_[0].control->by_leader.epoch.load();
    for (int epochs = 0; epochs < 12; ++epochs) others_advance();
    const std::size_t generations = manifest(0).generations.size();
    at_step(step, [&] { EXPECT_TRUE(checkpoint(0).ok()); });
    const Status back = come_back(up_to);
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_TRUE(has("old"));
    EXPECT_TRUE(has("new0"));
    if (steps_ < step) break;  // it had come back before
    EXPECT_LT(manifest(0).generations.size(), generations) << "the checkpoint has removed nothing";
  }
}

/// Another node's checkpoint makes it forget an empty log directory, which it does not show any more, at every step
/// that node 1 makes in what is sent.
TEST_P(ComeBack, AnotherNodeForgetsALogDirectoryMeanwhile) {
  if (!several_hosts()) GTEST_SKIP() << "node 1 looks into the directory itself, and it is still there";
  constexpr unsigned kMostSteps = 1'000;
  const auto go_on = [this] {
    for (int epochs = 0; epochs < 12; ++epochs) others_advance();
  };
  for (unsigned step = 0;; step = std::max(step, own_steps_) + 1) {
    ASSERT_LT(step, kMostSteps);
    SCOPED_TRACE(step);
    nodes_.clear();
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      std::filesystem::remove_all(path(node));
      std::filesystem::remove_all(logs(node));
    }
    logs_outside_ = true;
    open_all();
    close_all();
    logs_outside_ = false;
    open_all();
    ASSERT_NO_FATAL_FAILURE(leave_with_checkpoint());
    put_everywhere(0, "new0");
    const epoch::Epoch up_to = nodes_[0].control->by_leader.epoch.load();
    go_on();
    ASSERT_TRUE(checkpoint(0).ok());
    go_on();
    ASSERT_EQ(manifest(0).log_directories.size(), 2u);
    at_step(step, [&] { EXPECT_TRUE(checkpoint(0).ok()); });
    const Status back = come_back(up_to);
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_TRUE(has("new0"));
    if (steps_ < step) break;  // it had come back before
    EXPECT_EQ(manifest(0).log_directories.size(), step == 0 ? 2u : 1u);
  }
}

/// The others release results while the node is on its way, beyond the end of its log. These results are there after a
/// loss of power, whether the node had been let in by then or not.
TEST_P(ComeBack, TheOthersLoseNothingIfAllDieMeanwhile) {
  for (const bool admitted : {false, true}) {
    SCOPED_TRACE(admitted);
    for (std::uint32_t node = 0; node < kNodes; ++node) std::filesystem::remove_all(path(node));
    in_child([&] {
      const epoch::Epoch up_to = others_go_on();
      ASSERT_TRUE(come_back(up_to).ok());
      const epoch::Epoch own = nodes_[kBack].database->current_epoch();
      while (nodes_[0].control->by_leader.epoch.load() <= own + 1) others_advance();
      put_everywhere(0, "released");
      for (int epochs = 0; epochs < 3; ++epochs) others_advance();
      if (admitted) {
        nodes_[kBack].control->by_leader.epoch.store(nodes_[0].control->by_leader.epoch.load());
        ASSERT_TRUE(nodes_[kBack].database->engine().note_admitted().ok());
        put_everywhere(kBack, "not durable");
      }
    });
    for (std::uint32_t node = 0; node < kNodes; ++node) lose_rings(node);
    EXPECT_TRUE(recover().cut);
    open_all();
    EXPECT_EQ(count("released"), kNodes);
    EXPECT_EQ(count("not durable"), 0u);
    nodes_.clear();
  }
}

/// The other node served on for long while this one was on its way, and then ended, with a last transaction that has
/// nothing of this node's.
TEST_P(ComeBack, ItTakesALogThatHasALateTransactionOfOthers) {
  const epoch::Epoch up_to = others_go_on();
  for (int epochs = 0; epochs < 40; ++epochs) others_advance();
  cc::WriteEntry late{};
  late.table = 0;
  late.key = "late";
  late.value = "v";
  commit_at(2, {late}, {});
  others_advance();
  others_advance();
  EXPECT_TRUE(nodes_[2].database->close().ok());
  nodes_[2].database.reset();
  const Status back = come_back(up_to);
  EXPECT_TRUE(back.ok()) << back.message();
  EXPECT_TRUE(has("new2"));
}

/// It has begun in an epoch before the one up to which the other log counts.
TEST_P(ComeBack, ItRefusesALogThatIsAheadOfIt) {
  const epoch::Epoch up_to = others_go_on();
  ASSERT_TRUE(come_back(up_to).ok());
  const epoch::Epoch own = nodes_[kBack].database->current_epoch();
  while (nodes_[0].control->by_leader.epoch.load() <= own + 1) others_advance();
  put_everywhere(0, "ahead");
  const epoch::Epoch ahead = nodes_[0].control->by_leader.epoch.load();
  others_advance();
  others_advance();
  db::Engine& engine = nodes_[kBack].database->engine();
  const Status refused = engine.take_from(base::system_files(), {.directory = path(0), .up_to = ahead});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
  EXPECT_NE(refused.message().find("it must begin behind all that it loads"), std::string::npos);
}

}  // namespace
}  // namespace granary::tests
