// The directory of a node that died, for its recovery while others go on: what it owes, whatever was already in its log, and how the
// generation is ended, also by a recovery that is cut short. What is done at the other nodes is for tests/cluster/recovery.

#include "src/db/dead_node.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "src/cc/log_entry.h"
#include "src/db/engine.h"
#include "src/record/state_word.h"
#include "tests/support/contents.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using db::DeadNode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kLife = 4;

class DeadNodeTest : public testing::Test {
 protected:
  DeadNodeTest() {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
  }
  void SetUp() override {
    if (recovery::boot_id().empty()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  }
  void begin() {
    control_ = std::make_unique<epoch::ControlBlock>();
    auto engine = db::Engine::open(
        options_, base::system_files(),
        {.control = control_.get(), .node = 1, .life = kLife, .returns = returns_, .first_epoch = first_epoch_});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    database_ = std::make_unique<Database>(std::move(*engine));
    control_->by_leader.admitted.store(1);
    control_->by_node.serving.store(1);
    table_ = database_->create_table("t").value();
  }
  /// As if the machine had been started anew since the last life.
  void change_boot() const {
    auto manifest = recovery::read_manifest(base::system_files(), options_.directory).value();
    manifest.boot = "another";
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, manifest).ok());
  }
  /// All nodes arrive in the next epoch, as the leader sees to it; the log takes what is complete.
  void advance(int epochs = 1) {
    for (int i = 0; i < epochs; ++i) {
      database_->step();
      control_->by_leader.epoch.fetch_add(1);
    }
    database_->step();
  }
  /// A transaction that has named a lock on node 2's record of the key. With a value, it has decided to write it.
  void leave(const std::string& key, const std::optional<std::string>& value) {
    txn::WorkerCore* const worker = database_->engine().workers().take().value();
    log::Ring& ring = *worker->state().ring;
    log::LockRecord record(ring.lock_ahead());
    ASSERT_TRUE(record.reserve(log::named_bytes(key.size())));
    record.add({.word = record::x_lock_word({.node = 1, .generation = kLife, .worker = 0, .sequence = ++sequence_}),
                .node = 2,
                .table = 0,
                .key = key,
                .place = 64 * sequence_});
    record.publish();
    if (value) {
      const std::vector<cc::RemoteWrite> writes = {{.node = 2, .table = 0, .key = key, .value = *value}};
      const record::TidWord tid = record::make_tid(control_->by_leader.epoch.load(), 1000 + sequence_);
      ASSERT_EQ(cc::reserve_log({{}, writes}, worker->state()), AbortReason::kNone);
      const std::size_t bytes = cc::write_log_entry({{}, writes}, worker->state(), tid);
      record.decide(tid, ring.end_after(bytes));
      ring.publish(bytes);
    }
    database_->engine().workers().give_back(worker);
  }
  void put(std::string_view key, std::string_view value = "v") {
    Worker worker = database_->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table_, key, value)); }).committed());
  }
  /// A life of the node that dies with its process at the end of `body`.
  void live(const std::function<void()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      begin();
      body();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }

  Result<std::unique_ptr<DeadNode>> open() const { return DeadNode::open(options_, base::system_files()); }
  static std::vector<std::string> texts(const DeadNode& dead) {
    std::vector<std::string> all;
    for (const log::Debt& debt : dead.debts())
      all.push_back(debt.key + (debt.version ? "=" + debt.version->value : ""));
    return all;
  }
  std::vector<std::string> debts() const {
    const auto dead = open();
    EXPECT_TRUE(dead.ok()) << dead.status().message();
    return dead.ok() ? texts(**dead) : std::vector<std::string>();
  }
  /// Everything below the database's directory and that of its rings.
  std::map<std::string, std::string> image() const {
    std::map<std::string, std::string> files = rings_.contents();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      if (!entry.is_regular_file()) continue;
      files[entry.path()] = tests::contents(entry.path());
    }
    return files;
  }
  void expect_refused(StatusCode code, std::string_view cause) const {
    const auto before = image();
    const Status refused = open().status();
    EXPECT_EQ(refused.code(), code) << refused.message();
    EXPECT_THAT(refused.message(), HasSubstr(std::string(cause)));
    EXPECT_EQ(image(), before) << "a refusal changes nothing";
  }
  std::vector<std::string> ring_files() const {
    std::vector<std::string> names;
    for (const auto& [path, bytes] : rings_.contents()) {
      const std::string name = std::filesystem::path(path).filename();
      if (name.starts_with("ring-")) names.push_back(name);
    }
    return names;
  }
  recovery::Manifest manifest() const {
    return recovery::read_manifest(base::system_files(), options_.directory).value();
  }
  /// A recovery that is killed where `point` is passed, or at its end.
  void adopt_and_die_at(std::string_view point) const {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      base::set_sync_hook([point](std::string_view passed) {
        if (passed == point) ::_exit(0);
      });
      const auto dead = open();
      ::_exit(dead.ok() && (*dead)->adopt(0).ok() ? 1 : 2);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << point << " was not reached";
  }
  /// The node's next life, which has all that was committed in the former one.
  void expect_whole(const std::vector<std::string>& keys) {
    begin();
    Worker worker = database_->register_worker().value();
    for (const std::string& key : keys) {
      Outcome got = Outcome::kNotFound;
      static_cast<void>(worker.run([&](Transaction& t) {
        std::string value;
        got = t.get(table_, key, value);
      }));
      EXPECT_EQ(got, Outcome::kOk) << key;
    }
  }

  TemporaryDirectory directory_;
  RingDirectory rings_;
  Options options_ = manual_options();
  bool returns_ = false;
  epoch::Epoch first_epoch_ = 1;
  std::unique_ptr<epoch::ControlBlock> control_;
  std::unique_ptr<Database> database_;
  Table table_;
  std::uint32_t sequence_ = 0;
};

TEST_F(DeadNodeTest, OwesWhatItsTransactionsLeftUnderWay) {
  live([this] {
    put("mine");
    leave("decided", "v");
    leave("undecided", std::nullopt);
  });
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_THAT(texts(**dead), ElementsAre("decided=v", "undecided"));
  EXPECT_EQ((*dead)->life(), kLife);
  EXPECT_EQ((*dead)->debts().front().word,
            record::x_lock_word({.node = 1, .generation = kLife, .worker = 0, .sequence = 1}));
}

/// The logger has taken the entry, has synced it, and the ring has given its bytes back.
TEST_F(DeadNodeTest, OwesWhatItsLogHasAlready) {
  for (const LogCompression compression : {LogCompression::kNone, LogCompression::kLz4}) {
    options_.directory = directory_ / std::to_string(static_cast<int>(compression));
    options_.log_compression = compression;
    live([this] {
      leave("early", "1");
      advance(4);
      leave("late", "2");
    });
    std::uint64_t drained = 0;
    const auto rings = recovery::find_rings(manifest());
    for (const auto& ring : rings->rings) drained += ring->header().head.load();
    ASSERT_GT(drained, 0u);
    EXPECT_THAT(debts(), ElementsAre("early=1", "late=2"));
  }
}

/// The first locks are to go soon, however long the log is. What has been waiting for longer is found all the same.
TEST_F(DeadNodeTest, LooksAtThePartOfItsLogThatItsRingsGoOnFrom) {
  options_.log_segment_bytes = std::uint64_t{64} << 10;
  const auto fill_segments = [this](int segments) {
    const std::string large(options_.log_segment_bytes / 4, 'v');
    for (int i = 0; i < 5 * segments; ++i) {
      put("key " + std::to_string(i), large);
      advance();
    }
  };
  const auto damage_first_segment = [this] {
    const std::string path = options_.directory + "/" + log::segment_name(1, 0, 0);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(options_.log_segment_bytes / 2));
    file << "what nobody has written";
    EXPECT_TRUE(file.good()) << path;
  };
  live([&] {
    fill_segments(3);
    leave("key", "v");
    advance(4);
  });
  damage_first_segment();
  {
    const auto dead = open();
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_THAT(texts(**dead), ElementsAre("key=v"));
    ASSERT_TRUE((*dead)->adopt(0).ok());
  }
  EXPECT_TRUE(manifest().generations.front().segments.front().end) << "the part that was left out still counts";

  options_.directory = directory_ / "longer";
  live([&] {
    leave("key", "v");
    fill_segments(3);
  });
  EXPECT_THAT(debts(), ElementsAre("key=v"));
  damage_first_segment();
  expect_refused(StatusCode::kDamaged, log::segment_name(1, 0, 0));
}

TEST_F(DeadNodeTest, IsNotOneWhoseProcessIsThere) {
  begin();
  EXPECT_EQ(open().status().code(), StatusCode::kUnavailable);
  database_.reset();
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_EQ(open().status().code(), StatusCode::kUnavailable) << "another recoverer has it";
}

TEST_F(DeadNodeTest, WithoutDataIsRefused) {
  options_.directory = directory_ / "elsewhere";
  expect_refused(StatusCode::kNotFound, "elsewhere");
}

/// What it held is not known then. Salvage, which gives up what is lost, does not help.
TEST_F(DeadNodeTest, WithoutItsRingsIsRefused) {
  live([this] {
    put("mine");
    leave("key", "v");
  });
  const RingDirectory::Contents rings = rings_.contents();
  ASSERT_EQ(ring_files().size(), 2u) << "one for each worker there was";
  const std::string advice = "End all nodes of the cluster, then start all of them";
  for (const bool salvage : {false, true}) {
    options_.salvage = salvage;
    rings_.empty();
    expect_refused(StatusCode::kFailedPrecondition, advice);
    expect_refused(StatusCode::kFailedPrecondition, "no log rings are in '");
    RingDirectory::Contents fewer = rings;
    std::erase_if(fewer, [](const auto& file) { return file.first.ends_with("ring-0000"); });
    rings_.replace(fewer);
    expect_refused(StatusCode::kFailedPrecondition, "1 of 2 log rings are missing");
    rings_.replace(rings);
    recovery::Manifest of_another_boot = manifest();
    const recovery::Manifest of_this_boot = of_another_boot;
    of_another_boot.boot = "another";
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, of_another_boot).ok());
    expect_refused(StatusCode::kFailedPrecondition, "the machine was started anew");
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, of_this_boot).ok());
  }
  EXPECT_THAT(debts(), ElementsAre("key=v"));
}

TEST_F(DeadNodeTest, WithADamagedNameIsRefused) {
  live([this] { leave("key", "v"); });
  RingDirectory::Contents rings = rings_.contents();
  unsigned changed = 0;
  for (auto& [name, bytes] : rings) {
    if (name.find("/ring-") == std::string::npos) continue;
    const std::size_t key = bytes.find("key", bytes.size() - log::lock_area_bytes(options_.ring_bytes));
    if (key == std::string::npos) continue;
    bytes[key] = 'l';
    ++changed;
  }
  ASSERT_EQ(changed, 1u);
  rings_.replace(rings);
  expect_refused(StatusCode::kDamaged, "' is damaged: slot 0 of the lock-ahead record");
}

TEST_F(DeadNodeTest, AdoptsItsRingsAndOwesNothingAfterwards) {
  live([this] {
    put("synced");
    advance(4);
    put("in the ring");
    leave("key", "v");
  });
  constexpr epoch::Epoch kNow = 1000;
  {
    const auto dead = open();
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_GT((*dead)->ring_bytes(), 0u);
    ASSERT_TRUE((*dead)->adopt(kNow).ok());
    EXPECT_THAT((*dead)->debts(), IsEmpty());
    EXPECT_TRUE((*dead)->adopt(kNow + 1).ok()) << "once more does nothing";
  }
  EXPECT_THAT(ring_files(), IsEmpty());
  const auto generations = manifest().generations;
  ASSERT_EQ(generations.size(), 2u);
  EXPECT_GT(generations.front().cut, generations.front().durable) << "all of it counts";
  EXPECT_LT(generations.front().cut, kNow);
  EXPECT_TRUE(generations.back().end);
  EXPECT_EQ(generations.back().first_epoch, kNow);
  const auto ended = open();
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  EXPECT_THAT((*ended)->debts(), IsEmpty());
  EXPECT_EQ((*ended)->ring_bytes(), 0u);
  EXPECT_EQ((*ended)->life(), kLife);
  const auto before = image();
  EXPECT_TRUE((*ended)->adopt(kNow + 1).ok());
  EXPECT_EQ(image(), before);
}

TEST_F(DeadNodeTest, ItsNextLifeHasAllThatItCommitted) {
  live([this] {
    put("synced");
    advance(4);
    put("in the ring");
  });
  ASSERT_TRUE((*open())->adopt(0).ok());
  expect_whole({"synced", "in the ring"});
}

/// Wherever a recovery dies, the next one finds the same debts, or none after the end of the generation was written.
TEST_F(DeadNodeTest, AdoptionMayBeCutShortAnywhere) {
  live([this] {
    put("mine");
    leave("key", "v");
  });
  adopt_and_die_at("storage.log_opened");
  EXPECT_THAT(debts(), ElementsAre("key=v"));
  EXPECT_THAT(ring_files(), testing::SizeIs(2));
  adopt_and_die_at("storage.manifest_written");
  EXPECT_THAT(debts(), IsEmpty());
  ASSERT_TRUE((*open())->adopt(0).ok());
  expect_whole({"mine"});
}

/// A node that was taken for dead may yet have closed its log. Its rings stay if it could not give everything back.
TEST_F(DeadNodeTest, OwesWhatItCouldNotGiveBackBeforeItClosed) {
  live([this] {
    leave("decided", "v");
    leave("undecided", std::nullopt);
    advance(3);
    ASSERT_TRUE(database_->close().ok());
  });
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_THAT(texts(**dead), ElementsAre("decided=v", "undecided"));
  EXPECT_TRUE((*dead)->adopt(0).ok()) << "its log is whole";
}

/// Also if the machine was started anew since, so that there are no rings to look at.
TEST_F(DeadNodeTest, OwesNothingIfItClosedInOrder) {
  live([this] {
    put("mine");
    advance(3);
    ASSERT_TRUE(database_->close().ok());
  });
  EXPECT_THAT(debts(), IsEmpty());
  change_boot();
  EXPECT_THAT(debts(), IsEmpty());
}

/// A node that comes back has begun a log before the others let it in, and has no rings yet.
TEST_F(DeadNodeTest, OwesNothingIfItWasNeverLetIn) {
  live([this] { put("mine"); });
  ASSERT_TRUE((*open())->adopt(0).ok());
  returns_ = true;
  live([this] {
    EXPECT_TRUE(recovery::read_manifest(base::system_files(), options_.directory)->generations.back().is_empty());
    std::filesystem::remove_all(options_.reliable_directory);
  });
  EXPECT_THAT(debts(), IsEmpty());
  change_boot();
  EXPECT_THAT(debts(), IsEmpty());
  ASSERT_TRUE((*open())->adopt(0).ok());
  live([this] {
    put("mine");
    ASSERT_TRUE(database_->engine().note_admitted().ok());
    std::filesystem::remove_all(options_.reliable_directory);
  });
  EXPECT_EQ(open().status().code(), StatusCode::kFailedPrecondition) << "it may have had transactions";
}

}  // namespace
}  // namespace granary::tests
