// The tools on the log of a cluster's node that has a checkpoint when the other nodes have none: what they still need
// of its log is verified, shown and backed up. Not here: nodes that start as processes of their own
// (tests/node/restart_test.cc).

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cluster_config/membership/life.h"
#include "tests/cli/command_line.h"
#include "tests/durability/cluster_rig.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::Hosts;
using tests::kNodes;

class KeptLog : public tests::ClusterRecovery {
 protected:
  static constexpr std::uint32_t kAhead = 1;

  static std::string key(std::uint32_t coordinator) { return "key" + std::to_string(coordinator); }
  std::string backup(std::uint32_t node) const { return path(node) + "-backup"; }
  Ran run(const std::string& words, const std::string& directory, const std::string& flags = "") const {
    return granary(words + " " + directory + " " + flags);
  }
  Ran back_up(std::uint32_t node) const { return run("backup", path(node), "--to=" + backup(node)); }

  /// Node 1 alone has a checkpoint behind its log of the first lives, which has writes of all nodes' records.
  void leave_one_ahead() {
    open_all();
    for (std::uint32_t coordinator = 0; coordinator < kNodes; ++coordinator)
      put_everywhere(coordinator, key(coordinator));
    advance();
    advance();
    close_all();
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const membership::Life life{
          .cluster = "c", .node = static_cast<membership::NodeId>(node), .cluster_id = 7, .generation = 1};
      ASSERT_TRUE(membership::write_life(base::system_files(), path(node), life).ok());
    }
    open_all();
    take_checkpoint();
    close_all();
    ASSERT_TRUE(fs::exists(old_segment()));
  }
  /// Node 1 takes a checkpoint, and everything before it is durable everywhere.
  void take_checkpoint() {
    for (int epochs = 0; epochs < 12; ++epochs) advance();
    epoch::ControlBlock& control = *nodes_[kAhead].control;
    control.by_leader.durable.store(control.by_leader.epoch.load() - 2);
    const Status taken = nodes_[kAhead].database->engine().checkpoint();
    ASSERT_TRUE(taken.ok()) << taken.message();
  }
  /// The segment of node 1 that its own checkpoint covers.
  std::string old_segment() const { return path(kAhead) + "/" + log::segment_name(1, 0, 0); }
  void flip_in_old_segment() const {
    std::string bytes = contents(old_segment());
    const std::size_t at = bytes.find(key(kAhead));
    ASSERT_NE(at, std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::ofstream(old_segment(), std::ios::binary) << bytes;
  }
  void TearDown() override { nodes_.clear(); }
};

INSTANTIATE_TEST_SUITE_P(Hosts, KeptLog, testing::Values(Hosts::kOne, Hosts::kSeveral),
                         [](const auto& one) { return one.param == Hosts::kOne ? "One" : "Several"; });

TEST_P(KeptLog, BackupsOfAllNodesHaveWhatEachNeedsOfTheOthers) {
  leave_one_ahead();
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    const Ran made = back_up(node);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Ran verified = run("log verify", backup(node));
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    fs::remove_all(path(node));
    const Ran restored = run("backup", backup(node), "--to=" + path(node));
    ASSERT_EQ(restored.exit_code, 0) << restored.err;
  }
  open_all();
  ASSERT_FALSE(HasFatalFailure());
  for (std::uint32_t coordinator = 0; coordinator < kNodes; ++coordinator)
    EXPECT_EQ(count(key(coordinator)), kNodes) << "of the transaction of node " << coordinator;
  close_all();
}

TEST_P(KeptLog, DamageOfWhatOnlyOthersNeedIsTold) {
  leave_one_ahead();
  EXPECT_EQ(run("recover", path(kAhead), "--dry-run").exit_code, 0);
  flip_in_old_segment();
  const Ran verified = run("log verify", path(kAhead));
  EXPECT_EQ(verified.exit_code, 4);
  EXPECT_THAT(verified.out, HasSubstr("DAMAGED: '" + old_segment() + "', offset"));
  const Ran planned = run("recover", path(kAhead), "--dry-run");
  EXPECT_EQ(planned.exit_code, 4);
  EXPECT_THAT(planned.out, HasSubstr("DAMAGED: '" + old_segment() + "', offset"));
  EXPECT_THAT(planned.err, HasSubstr("another one that needs its log, would refuse to start"));
  const Ran made = back_up(kAhead);
  EXPECT_EQ(made.exit_code, 4);
  EXPECT_THAT(made.err, HasSubstr(old_segment()));
  EXPECT_FALSE(fs::exists(backup(kAhead)));
  EXPECT_EQ(run("log stat", path(kAhead)).exit_code, 4);
  // As a backup of a release that left out what the own checkpoint covers.
  fs::remove(old_segment());
  const Ran missing = run("log verify", path(kAhead));
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.out, AllOf(HasSubstr("DAMAGED: '" + old_segment()), HasSubstr("the file is missing")));
}

/// The tools tell damage exactly where the other nodes refuse to start.
TEST_P(KeptLog, ANodeIsRefusedWhereTheToolsTellDamage) {
  leave_one_ahead();
  flip_in_old_segment();
  epoch::ControlBlock own, others;
  EXPECT_TRUE(open(kAhead, &own).ok()) << "it needs nothing of that";
  auto engine = open(0, &others);
  Status taken = engine.status();
  if (several_hosts() && engine.ok()) {
    tests::ReadByMessages theirs(kAhead, path(kAhead));
    taken = (*engine)->take_from(theirs.files(), {.directory = db::RemoteFiles::kDirectory});
  }
  EXPECT_EQ(taken.code(), StatusCode::kDamaged) << taken.message();
}

TEST_P(KeptLog, SegmentsAreKeptUntilAllNodesHaveACheckpoint) {
  leave_one_ahead();
  const auto figures = [this] {
    return nlohmann::json::parse(run("log stat", path(kAhead), "--json").out, nullptr, false);
  };
  const Ran shown = run("log stat", path(kAhead));
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("they are kept for other nodes"), HasSubstr(log::segment_name(1, 0, 0)),
                               Not(HasSubstr("no longer needed"))));
  EXPECT_EQ(figures()["kept_for_other_nodes"], 1);
  EXPECT_EQ(figures()["superseded"], 0);
  EXPECT_THAT(run("log verify", path(kAhead)).out, HasSubstr("(1 kept for other nodes only)"));
  EXPECT_THAT(run("recover", path(kAhead), "--dry-run").out, HasSubstr("1 of them are kept for other nodes only"));

  const epoch::Epoch made = manifest(kAhead).checkpoint->epoch;
  open_all();
  nodes_[kAhead].control->by_leader.checkpoint.store(made);  // as when all nodes have one by now
  take_checkpoint();
  close_all();
  EXPECT_FALSE(fs::exists(old_segment()));
  EXPECT_THAT(run("log stat", path(kAhead)).out, Not(HasSubstr(log::segment_name(1, 0, 0))));
}

}  // namespace
}  // namespace granary::cli
