#pragma once
// A node whose process dies, and whose directory and rings are then opened for its recovery.

#include "src/db/dead_node.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

using db::DeadNode;

inline constexpr std::uint32_t kLife = 4;

class DeadNodeTest : public testing::Test {
 protected:
  DeadNodeTest() {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
  }
  void SetUp() override {
    if (!recovery::boot_id().ok()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  }
  void begin(base::FileSystem& files = base::system_files()) {
    control_ = std::make_unique<epoch::ControlBlock>();
    auto engine = db::Engine::open(options_, files,
                                   {.control = control_.get(),
                                    .node = 1,
                                    .life = kLife,
                                    .notes_admission = returns_,
                                    .first_epoch = first_epoch_});
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
    log::NamedLocks record(ring.lock_ahead());
    ASSERT_TRUE(record.reserve(log::named_bytes(key.size())));
    record.add({.word = record::x_lock_word({.node = 1, .generation = kLife, .worker = 0, .sequence = ++sequence_}),
                .node = 2,
                .table = 0,
                .key = key,
                .state_offset = 64 * sequence_});
    record.publish();
    if (value) {
      const std::vector<cc::RemoteWrite> writes = {{.node = 2, .table = 0, .key = key, .value = *value}};
      const record::TidWord tid = record::make_tid(control_->by_leader.epoch.load(), 1000 + sequence_);
      ASSERT_EQ(cc::reserve_log({{}, writes}, worker->state()), AbortReason::kNone);
      const std::size_t bytes = cc::write_log_entry({{}, writes}, worker->state(), tid);
      record.announce_decision(tid, ring.end_after(bytes));
      ring.publish(bytes);
    }
    database_->engine().workers().give_back(worker);
  }
  void put(std::string_view key, std::string_view value = "v") {
    Worker worker = database_->register_worker().value();
    put_by(worker, key, value);
  }
  void put_by(Worker& worker, std::string_view key, std::string_view value = "v") {
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table_, key, value)); }).committed());
  }
  /// Commits and logs enough for so many segments.
  void fill_segments(int segments) {
    const std::string large(options_.log_segment_bytes / 4, 'v');
    for (int i = 0; i < 5 * segments; ++i) {
      put("key " + std::to_string(i), large);
      advance();
    }
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
    EXPECT_THAT(refused.message(), testing::HasSubstr(std::string(cause)));
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

}  // namespace granary::tests
