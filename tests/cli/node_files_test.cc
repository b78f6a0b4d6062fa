// The files that only a cluster's node has, when they are missing or wrong: MEMBER, and the lock-ahead records beside
// the bytes of its rings. Whoever opens the database is the node that starts. As in files_test.cc, the table below is
// that of docs/testing.md. Not here: several nodes (tests/node/restart_test.cc); every bit of a record
// (tests/recovery/lock_ahead_test.cc).

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <granary/cluster.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cluster_config/membership/life.h"
#include "recovery/manifest.h"
#include "src/log/ring.h"
#include "tests/cli/file_cells.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;

/// The table; the documentation has the same lines.
constexpr std::pair<const char*, Cells> kNodeFiles[] = {
    {"`MEMBER` of a node", {kTaken, kTaken, kForeign, kWhole, kFatal, kFatal}},
    {"ring of a node (its lock-ahead record)", {kNone, kNone, kNone, kNone, kRefused, kWhole}},
};

constexpr const char* kRing = "rings/ring-0000";

/// The only node of a cluster. Its first life ends in order; in the second it dies while it seems to hold a lock at
/// another node.
struct NodeHistories : FileStates {
  NodeHistories();

  Result<std::unique_ptr<Cluster>> start(Options options) const {
    fs::remove_all(path("run"));  // as when the machine starts anew: the node is told of its lives by its data alone
    options.background = Background::kThreads;
    auto cluster = Cluster::join({.file = path("cluster.toml"), .node = 1, .database = options});
    if (!cluster.ok()) return cluster;
    const auto table = (*cluster)->create_table("t", {.max_value_bytes = 8 << 10},
                                                Placement{[](std::string_view) { return NodeNumber{1}; }});
    if (!table.ok()) return table.status();
    const Status started = (*cluster)->start();
    return started.ok() ? std::move(cluster) : Result<std::unique_ptr<Cluster>>(started);
  }
  void live(int first, int end, const std::function<void()>& before_the_end) const {
    const auto cluster = start(home.options()).value();
    const auto worker = cluster->register_worker().value();
    const Table table = cluster->database().table("t").value();
    for (int row = first; row < end; ++row) {
      EXPECT_TRUE(worker->run([&](Transaction& t) { static_cast<void>(t.put(table, key_of(row), value_of(row))); })
                      .committed());
    }
    before_the_end();
  }
  void name_a_lock() const;
  /// What MEMBER would say of another life.
  std::string member_of(const membership::Life& life) const {
    EXPECT_TRUE(membership::write_life(base::system_files(), path("elsewhere"), life).ok());
    return base::read_file(base::system_files(), path("elsewhere/MEMBER")).value();
  }

  Image first_life;
};

NodeHistories::NodeHistories() {
  std::ofstream(path("cluster.toml")) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n"
                                         "[[node]]\nid = 1\nmemory = \"64MiB\"\nworkers = 2\n"
                                         "data_directory = \"database/db\"\nlog_directories = [\"database/logs\"]\n"
                                         "reliable_directory = \"database/rings\"\n";
  fs::create_directories(home.path("logs"));
  in_child([this] {
    live(0, Rows::kLogged, [] {});
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  });
  first_life = home.image();
  in_child([this] { live(Rows::kLogged, Rows::kAll, [] { ::_exit(testing::Test::HasFailure() ? 1 : 0); }); });
  home.note_rings();
  name_a_lock();
  whole = other = copy = home.image();
  auto life = membership::read_any_life(base::system_files(), home.directory()).value();
  ++life.cluster_id;  // the copy has been in a cluster of its own, and
  ++life.generation;  // has lived there once more
  copy.at("db/MEMBER") = member_of(life);
  life.node = 2;
  other.at("db/MEMBER") = member_of(life);
}

/// As a worker that died in the middle of a commit.
void NodeHistories::name_a_lock() const {
  const auto manifest = recovery::read_manifest(base::system_files(), home.directory()).value();
  const auto ring = log::Ring::open(home.path(kRing), manifest.database).value();
  log::NamedLocks record(ring->lock_ahead());
  ASSERT_TRUE(record.reserve(log::named_bytes(4)));
  record.add({.word = 0xabcd1, .node = 2, .table = 0, .key = "held"});
  record.publish();
}

class NodeFiles : public FileCells {
 protected:
  static void SetUpTestSuite() { histories_ = std::make_unique<NodeHistories>(); }
  static void TearDownTestSuite() { histories_.reset(); }

  const FileStates& states() const override { return *histories_; }
  Answer open(bool salvage) const override {
    Answer answer;
    std::mutex mutex;  // guards answer.words
    Options options = home().options();
    options.salvage = salvage;
    options.notices = [&](const Notice& notice) {
      const std::lock_guard guard(mutex);
      answer.words += notice.text + "\n";
    };
    auto cluster = histories_->start(options);
    if (!cluster.ok()) return {code_of(cluster.status()), cluster.status().message(), 0};
    answer.rows = count_rows((*cluster)->database());
    EXPECT_TRUE((*cluster)->leave().ok());
    return answer;
  }
  /// Where the lock-ahead record of the ring begins: behind its header and its bytes.
  static std::size_t lock_area() {
    const std::size_t capacity = std::size_t{128} << 10;
    const std::size_t bytes = histories_->whole.at(kRing).size();
    EXPECT_EQ(bytes - log::lock_area_bytes(capacity), capacity + 4096);
    return bytes - log::lock_area_bytes(capacity);
  }
  /// Bits of what names the lock, all of which a look at the record notices.
  static std::vector<std::size_t> flips_of_lock() {
    const std::size_t slot = lock_area(),
                      lock = slot + log::lock_slots(std::size_t{128} << 10) * sizeof(log::SlotHeader);
    return {slot + offsetof(log::SlotHeader, named), slot + offsetof(log::SlotHeader, log_end),
            lock + offsetof(log::LockHeader, state_offset), lock + sizeof(log::LockHeader)};
  }

  static std::unique_ptr<NodeHistories> histories_;
};

std::unique_ptr<NodeHistories> NodeFiles::histories_;

TEST_F(NodeFiles, EachCellOfTheTable) {
  const NodeHistories& all = *histories_;
  const std::size_t area = lock_area(), ring = all.whole.at(kRing).size();
  check_table(kNodeFiles, {{"db/MEMBER", "MEMBER", &all.first_life, {}, {21, 45, 60, 90}},
                           {kRing, "ring-0000", nullptr, {}, flips_of_lock(), {area, area + 8, ring - 1}}});
}

/// Only `log dump` reads it.
TEST_F(NodeFiles, DamageOfTheLockAheadRecordIsNamedWithItsSlot) {
  for (const std::size_t flip : flips_of_lock()) {
    Image changed = histories_->whole;
    changed.at(kRing)[flip] = static_cast<char>(changed.at(kRing)[flip] ^ 0x10);
    home().restore(changed);
    const Answer dumped = tool("log dump");
    EXPECT_EQ(dumped.code, 4) << flip;
    EXPECT_THAT(dumped.words, ContainsRegex("ring-0000.*DAMAGED: slot 0 of the lock-ahead record: "));
  }
}

TEST_F(NodeFiles, TheTableIsDocumented) { check_documented(kNodeFiles); }

}  // namespace
}  // namespace granary::cli
