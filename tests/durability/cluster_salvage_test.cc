// A salvage of a cluster's node where another node's log has lost writes of its records: the node says so, its indexes
// are in step with its tables, and it takes a checkpoint soon. Not covered: a checkpoint of the other node that removes
// segments while they are read.

#include <fstream>
#include <iterator>

#include "tests/durability/cluster_rig.h"
#include "tests/support/fault_files.h"

namespace granary::tests {
namespace {

class ClusterSalvage : public ClusterRecovery {
 protected:
  static constexpr std::uint32_t kHome = 1, kOther = 2;

  /// Node 2 changes the row of node 1 from one value to another.
  void change(std::string_view from, std::string_view to) {
    const std::string before = std::string(from) + "k", after = std::string(to) + "k";
    commit_at(kOther, {},
              {{.node = kHome, .table = 0, .key = "k", .value = to},
               {.node = kHome, .table = 1, .key = before, .remove = true},
               {.node = kHome, .table = 1, .key = after, .value = "k"}});
    for (int epochs = 0; epochs < 3; ++epochs) advance();
  }
  /// Changes the text's first byte in each segment of node 2's log that has it. Returns in how many it stood.
  unsigned damage(std::string_view text) {
    unsigned found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(kOther))) {
      if (entry.path().extension() != ".glog") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      const std::size_t at = bytes.find(text);
      if (at == std::string::npos) continue;
      file.clear();
      file.seekp(static_cast<std::streamoff>(at)).put('X');
      ++found;
    }
    return found;
  }
  /// Ends all nodes, with a damaged log of node 2.
  void lose_a_change() {
    open_all();
    (void)index_of(nodes_[kHome]);
    {
      Worker worker = nodes_[kHome].database->register_worker().value();
      ASSERT_TRUE(worker.run([&](Transaction& t) { (void)t.put(nodes_[kHome].table, "k", "aaaa"); }).committed());
    }
    for (int epochs = 0; epochs < 3; ++epochs) advance();
    change("aaaa", "bbbb");
    change("bbbb", "cccc");
    for (Node& node : nodes_) EXPECT_TRUE(node.database->close().ok());
    ASSERT_EQ(damage("bbbb"), 1u);
    nodes_.clear();
  }
  Node& open_home() {
    salvage_ = true;
    nodes_.resize(kNodes);
    Node& home = nodes_[kHome];
    auto engine = open(kHome, home.control.get());
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    home.database = std::make_unique<Database>(std::move(engine).value());
    home.table = home.database->create_table("t").value();
    take_from_others(kHome, home.database->engine());
    return home;
  }
  void TearDown() override { nodes_.clear(); }
  static Index index_of(Node& node) {
    const IndexOptions by_value{.parts = {{.source = IndexPart::Source::kValue, .length = 4}}};
    return node.database->create_index(node.table, "by value", by_value).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Hosts, ClusterSalvage, testing::Values(Hosts::kOne, Hosts::kSeveral),
                         [](const auto& one) { return one.param == Hosts::kOne ? "One" : "Several"; });

TEST_P(ClusterSalvage, MendsIndexesWhereAnotherNodesLogIsDamaged) {
  lose_a_change();
  Node& home = open_home();
  std::string notes;
  for (const std::string& note : home.database->recovery_report().notes) notes += note + "\n";
  EXPECT_NE(notes.find("LOST"), std::string::npos) << notes;
  EXPECT_NE(notes.find(".glog"), std::string::npos) << notes;

  const Index by_value = index_of(home);
  Worker worker = home.database->register_worker().value();
  std::string rows;
  EXPECT_TRUE(worker.run([&](Transaction& t) {
    rows.clear();
    (void)t.scan(by_value, {}, [&](std::string_view key, std::string_view value) {
      rows.append(key).append("=").append(value).append(" ");
      return true;
    });
  }));
  EXPECT_EQ(rows, "k=cccc ");
  const RunResult back = worker.run([&](Transaction& t) { (void)t.put(home.table, "k", "aaaa"); }, {.max_attempts = 5});
  EXPECT_TRUE(back) << name(back.reason);
}

/// A checkpoint makes the next opening possible without a salvage.
TEST_P(ClusterSalvage, TakesACheckpointSoon) {
  lose_a_change();
  background_ = Background::kThreads;
  Node& home = open_home();
  home.control->by_leader.admitted.store(1);
  home.control->by_node.serving.store(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!manifest(kHome).checkpoint && std::chrono::steady_clock::now() < end) {
    const epoch::Epoch epoch = home.control->by_leader.epoch.fetch_add(1) + 1;
    home.control->by_leader.durable.store(epoch - 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(manifest(kHome).checkpoint);
}

/// A read that fails there may succeed the next time, so nothing is given up for it.
TEST_P(ClusterSalvage, TakesNoReadThatFailsOnAnotherNodeForALoss) {
  open_all();
  put_everywhere(kOther, "k");
  for (int epochs = 0; epochs < 3; ++epochs) advance();
  close_all();
  Node& home = open_home();
  FaultFiles sent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path(kOther))) {
    if (!entry.is_regular_file()) continue;
    ASSERT_TRUE(sent.make_directory(entry.path().parent_path()).ok());
    sent.put(entry.path(), base::read_file(base::system_files(), entry.path()).value());
    if (entry.path().extension() == ".glog") sent.make_unreadable(entry.path(), 0);
  }
  const Status taken = home.database->engine().take_from(sent, {.directory = path(kOther)});
  EXPECT_EQ(taken.code(), StatusCode::kIoError) << taken.message();
}

}  // namespace
}  // namespace granary::tests
