// Clusters of databases that end in order, or whose processes die, with or without what was in their rings; recovered
// as a whole, also by a recovery that is itself cut short at each step. All of it twice: with directories that are all
// on one host, and with nodes that only see their own, agree at a board, and read each other's logs by messages. How
// these agree: several_hosts_test.cc.

#include <fstream>

#include "tests/durability/cluster_rig.h"
#include "tests/support/contents.h"

namespace granary::tests {
namespace {

std::string name_of_hosts(const testing::TestParamInfo<Hosts>& one) {
  return one.param == Hosts::kOne ? "One" : "Several";
}

INSTANTIATE_TEST_SUITE_P(Hosts, ClusterRecovery, testing::Values(Hosts::kOne, Hosts::kSeveral), name_of_hosts);

TEST_P(ClusterRecovery, ANodeFindsItsRecordsInTheLogsOfTheOthers) {
  open_all();
  put_everywhere(0, "a");
  put_everywhere(2, "b");
  advance();
  close_all();
  EXPECT_EQ(recover().interrupted, 0u) << "all ended in order";
  open_all();
  EXPECT_EQ(count("a"), kNodes);
  EXPECT_EQ(count("b"), kNodes);
}

/// Another node's log directory may be another database's by now: mounted there by mistake, or of a copy of that node.
TEST_P(ClusterRecovery, ALogDirectoryOfANodeThatHasAnotherOwnerIsRefused) {
  logs_outside_ = true;
  open_all();
  advance();
  put_everywhere(0, "key");
  advance();
  close_all();
  const recovery::Manifest of = manifest(1);
  const recovery::Owner other{of.database, recovery::new_id(), path(7), logs(1)};
  ASSERT_TRUE(recovery::write_owner(base::system_files(), other).ok());
  epoch::ControlBlock control;
  auto engine = open(0, &control);
  Status taken = engine.status();
  if (several_hosts() && engine.ok()) {
    ReadByMessages theirs(1, path(1));
    taken = (*engine)->take_from(theirs.files(), {.directory = db::RemoteFiles::kDirectory});
  }
  EXPECT_FALSE(taken.ok());
  EXPECT_NE(taken.message().find("'" + logs(1) + "' belongs to the database in '" + path(7) + "'"), std::string::npos)
      << taken.message();
}

/// Nodes need not have the limit alike, so the message names the key of this one.
TEST_P(ClusterRecovery, ANodeThatDoesNotFitSaysWhichLimitIsToBeRaised) {
  open_all();
  constexpr int kTransactions = 60, kRecords = 200;
  const std::string value(1000, 'v');
  for (int i = 0; i < kTransactions; ++i) {
    std::vector<std::string> keys;
    for (int k = 0; k < kRecords; ++k) keys.push_back(std::to_string(i) + "-" + std::to_string(k));
    std::vector<cc::WriteEntry> writes(kRecords);
    for (int k = 0; k < kRecords; ++k) {
      writes[static_cast<std::size_t>(k)].table = 0;
      writes[static_cast<std::size_t>(k)].key = keys[static_cast<std::size_t>(k)];
      writes[static_cast<std::size_t>(k)].value = value;
    }
    commit_at(1, writes, {});
    advance();
  }
  close_all();
  memory_bytes_ = std::uint64_t{8} << 20;
  epoch::ControlBlock control;
  const auto refused = open(1, &control);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "recovery: the database does not fit into its memory limit of 8388608 bytes; raise the key 'memory' of "
            "node 1 in the cluster file, which the other nodes need not have alike");
  memory_bytes_ = std::uint64_t{32} << 20;
  const auto opened = open(1, &control);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
}

/// The removal is in one log, what was removed in another: whichever is read first.
TEST_P(ClusterRecovery, WhatWasRemovedStaysSo) {
  open_all();
  for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
    for (std::uint32_t remover = 0; remover < kNodes; ++remover)
      put_everywhere(maker, std::to_string(maker) + std::to_string(remover));
  }
  put_everywhere(0, "again");
  advance();
  for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
    for (std::uint32_t remover = 0; remover < kNodes; ++remover)
      put_everywhere(remover, std::to_string(maker) + std::to_string(remover), /*remove=*/true);
  }
  put_everywhere(1, "again", /*remove=*/true);
  advance();
  put_everywhere(2, "again");
  advance();
  close_all();
  for (int start = 0; start < 2; ++start) {
    open_all();
    for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
      for (std::uint32_t remover = 0; remover < kNodes; ++remover)
        EXPECT_EQ(count(std::to_string(maker) + std::to_string(remover)), 0u) << maker << remover;
    }
    EXPECT_EQ(count("again"), kNodes);
    close_all();
  }
}

TEST_P(ClusterRecovery, NothingIsMissingIfAllRingsSurvive) {
  die_with_a_node_behind();
  epoch::ControlBlock control;
  EXPECT_EQ(open(1, &control).status().code(), StatusCode::kFailedPrecondition) << "recover first";
  const Recovered report = recover();
  EXPECT_EQ(report.interrupted, kNodes);
  EXPECT_FALSE(report.cut);
  const std::array<epoch::Epoch, kNodes> cuts = ends();
  open_all();
  expect_reports(cuts, /*rings=*/true);
  for (const char* key : {"durable", "late", "late1"}) EXPECT_EQ(count(key), kNodes) << key;
}

/// Whoever looks at that node's log: the recovery of all, or the node itself.
TEST_P(ClusterRecovery, ALogThatEndsBeforeItsRingsIsRefused) {
  in_child([this] { leave_a_node_behind(); });
  const std::string segment = path(0) + "/" + log::segment_name(1, 0, 0);
  constexpr std::uint64_t kHeaderAndFirstMarker = 104;
  std::filesystem::resize_file(segment, kHeaderAndFirstMarker);
  const Status refused = several_hosts()
                             ? db::Storage::open(options(0), base::system_files(), {.recovers_all = true}).status()
                             : db::recover_cluster(all_options(), base::system_files()).status();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_NE(refused.message().find("'" + segment + "', offset 104"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("' goes on from 'log-g"), std::string::npos) << refused.message();
}

TEST_P(ClusterRecovery, AllGoBackToOneEpochIfANodeLostItsRings) {
  die_with_a_node_behind();
  lose_rings(1);
  const Recovered report = recover();
  ASSERT_TRUE(report.cut);
  const std::array<epoch::Epoch, kNodes> cuts = ends();
  EXPECT_EQ(cuts[1], cuts[0]) << "all go back to the same";
  EXPECT_EQ(cuts[2], cuts[0]) << "all go back to the same";
  open_all();
  expect_reports(cuts, /*rings=*/false);
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("late"), 0u) << "although node 0 had it in its log";
  EXPECT_EQ(count("late1"), 0u);
  // Nor does it rise again, or take another's place, when new epochs have gone by.
  put_everywhere(2, "new");
  advance();
  close_all();
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("new"), kNodes);
  EXPECT_EQ(count("late") + count("late1"), 0u);
}

/// A copy of node 1's directory that is older than results which have been released since.
class OlderCopy : public ClusterRecovery {
 protected:
  /// Copies the directory, lets a transaction become durable on all nodes, and returns up to which epoch all of them
  /// are told that results are released.
  epoch::Epoch release_after_copying() {
    open_all();
    put_everywhere(0, "early");
    for (int epochs = 0; epochs < 2; ++epochs) advance();
    std::filesystem::copy(path(1), older_, std::filesystem::copy_options::recursive);
    put_everywhere(1, "released");
    for (int epochs = 0; epochs < 3; ++epochs) advance();
    const epoch::Epoch released = nodes_[0].control->by_leader.epoch.load() - 2;
    for (Node& node : nodes_) node.control->by_leader.durable.store(released);
    return released;
  }

  const std::string older_ = path(1) + "-older";
};
INSTANTIATE_TEST_SUITE_P(Hosts, OlderCopy, testing::Values(Hosts::kOne, Hosts::kSeveral), name_of_hosts);

/// A snapshot of one node's volume is put back. The others have ended in order, and know what had been released since.
TEST_P(OlderCopy, DoesNotTakeBackWhatWasReleasedBeforeAnEndInOrder) {
  const epoch::Epoch released = release_after_copying();
  close_all();
  std::filesystem::remove_all(path(1));
  std::filesystem::rename(older_, path(1));
  const Status refused = recover_all();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  const std::string text = "but results have been released up to epoch " + std::to_string(released);
  EXPECT_NE(refused.message().find(text), std::string::npos) << refused.message();
}

/// All have crashed, so no manifest tells what had been released; the markers of the other logs do.
TEST_P(OlderCopy, DoesNotTakeBackWhatWasReleasedBeforeACrashOfAll) {
  in_child([this] {
    release_after_copying();
    advance();
  });
  for (std::uint32_t node = 0; node < kNodes; ++node) lose_rings(node);
  const std::string newer = path(1) + "-newer";
  std::filesystem::rename(path(1), newer);
  std::filesystem::rename(older_, path(1));
  const Status refused = recover_all();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_NE(refused.message().find("but results have been released up to epoch "), std::string::npos)
      << refused.message();
  std::filesystem::remove_all(path(1));
  std::filesystem::rename(newer, path(1));
  EXPECT_TRUE(recover().cut);
  open_all();
  EXPECT_EQ(count("released"), kNodes);
}

/// Parts of values are in a node's log of its own records, and count as far as everything does.
TEST_P(ClusterRecovery, PartsGoBackWithTheRest) {
  const auto run = [this](FunctionRef<void(Transaction&, const Table&)> body) {
    Worker worker = nodes_[0].database->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { body(t, nodes_[0].table); }));
  };
  const auto part = [&run](std::size_t from, std::string_view bytes) {
    run([&](Transaction& t, const Table& table) { EXPECT_EQ(t.update_part(table, "row", from, bytes), Outcome::kOk); });
  };
  for (const bool lost : {false, true}) {
    in_child([&] {
      open_all();
      run([](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "row", "0123456789"), Outcome::kOk); });
      part(3, "PART");
      for (int i = 0; i < 2; ++i) advance();
      part(0, "late");
      for (int i = 0; i < 2; ++i) advance({0, 2});
    });
    if (lost) lose_rings(1);
    EXPECT_EQ(recover().cut, lost);
    open_all();
    run([&](Transaction& t, const Table& table) {
      std::string value;
      EXPECT_EQ(t.get(table, "row", value), Outcome::kOk);
      EXPECT_EQ(value, lost ? "012PART789" : "lateART789");
    });
    close_all();
  }
}

TEST_P(ClusterRecovery, ARecoveryThatIsCutShortIsTakenUpAgain) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  constexpr int kSteps = 9;  // three of each node
  for (int steps = 1; steps <= kSteps; ++steps) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      std::filesystem::remove_all(path(node));
      lose_rings(node);
    }
    die_with_a_node_behind();
    lose_rings(1);
    in_child([&] {
      std::atomic<int> left = steps;
      base::set_sync_hook([&left](std::string_view point) {
        if (point.starts_with("storage.") && left.fetch_sub(1) == 1) ::_exit(0);
      });
      recover();
    });
    recover();
    open_all();
    EXPECT_EQ(count("durable"), kNodes) << steps;
    EXPECT_EQ(count("late") + count("late1"), 0u) << steps;
    close_all();
  }
}

/// All rings were there when it began, and the power goes before it ends: then nobody may keep what its own rings had.
TEST_P(ClusterRecovery, ARecoveryThatIsCutShortByALossOfPowerTakesAllBack) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  constexpr int kSteps = 9;
  for (int steps = 1; steps <= kSteps; ++steps) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      std::filesystem::remove_all(path(node));
      lose_rings(node);
    }
    die_with_a_node_behind();
    in_child([&] {
      std::atomic<int> left = steps;
      base::set_sync_hook([&left](std::string_view point) {
        if (point.starts_with("storage.") && left.fetch_sub(1) == 1) ::_exit(0);
      });
      recover();
    });
    for (std::uint32_t node = 0; node < kNodes; ++node) lose_rings(node);
    recover();
    open_all();
    EXPECT_EQ(count("durable"), kNodes) << steps;
    const unsigned late = count("late");
    EXPECT_EQ(late, count("late1")) << steps << ": one may depend on the other";
    EXPECT_TRUE(late == 0 || late == kNodes) << steps;
    close_all();
  }
}

/// Also that of a node that had ended in order, and has gone back with the others: its own end lies behind that.
TEST_P(ClusterRecovery, AManifestOfBeforeTheRecoveryIsRefused) {
  in_child([this] {
    leave_a_node_behind();
    ASSERT_TRUE(nodes_[0].database->close().ok());
  });
  lose_rings(1);
  std::array<std::string, kNodes> older;
  for (std::uint32_t node = 0; node < kNodes; ++node) older[node] = contents(path(node) + "/MANIFEST");
  EXPECT_TRUE(recover().cut);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    const std::string file = path(node) + "/MANIFEST", newest = contents(file);
    std::ofstream(file, std::ios::binary) << older[node];
    const Status refused = db::Storage::open(options(node), base::system_files(), {.recovers_all = true}).status();
    EXPECT_EQ(refused.code(), StatusCode::kDamaged) << node;
    EXPECT_NE(refused.message().find("which the manifest does not know"), std::string::npos) << refused.message();
    std::ofstream(file, std::ios::binary) << newest;
  }
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("late") + count("late1"), 0u);
  close_all();
}

TEST_P(ClusterRecovery, ANodeThatEndedInOrderGoesBackWithTheOthers) {
  in_child([this] {
    leave_a_node_behind();
    ASSERT_TRUE(nodes_[0].database->close().ok());
  });
  lose_rings(1);
  EXPECT_TRUE(recover().cut);
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("late") + count("late1"), 0u);
  put_everywhere(0, "new");
  advance();
  advance();
  close_all();
  EXPECT_EQ(recover().interrupted, 0u);
  open_all();
  EXPECT_EQ(count("new"), kNodes);
}

/// One left long before the others did, so that its log knows of few epochs; the next start comes to nothing.
TEST_P(ClusterRecovery, AStartThatComesToNothingTakesNothingBack) {
  open_all();
  ASSERT_TRUE(nodes_[1].database->close().ok());
  for (int i = 0; i < 200; ++i) advance({0, 2});
  put_everywhere(0, "durable");
  advance({0, 2});
  advance({0, 2});
  close_all();
  in_child([this] {
    epoch::ControlBlock control;
    const auto engine = open(1, &control);
    ::_exit(engine.ok() ? 0 : 1);
  });
  lose_rings(1);
  recover();
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
}

}  // namespace
}  // namespace granary::tests
