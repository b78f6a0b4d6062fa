// The reading at the end of a list-append run, which a conflict must not keep from its lists. Not covered: a node that
// is lost meanwhile.

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "bench/append/client.h"
#include "src/base/test_hooks.h"
#include "tests/support/manual_database.h"

namespace granary::bench::append {
namespace {

using history::EventType;

class QuietRead : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
    append();
  }
  /// One element more at the end of the list, by the calling thread.
  void append() {
    Worker writer = database_->register_worker().value();
    const RunResult done = writer.run([&](Transaction& t) { (void)lists_.append(t, key_, ++elements_, false); });
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }
  /// The first attempt has failed, and the second one has seen the list with two elements.
  void expect_second_attempt(const Status& read) {
    EXPECT_TRUE(read.ok()) << read.message();
    const history::History& noted = reader_.noted();
    ASSERT_EQ(noted.size(), 4u);
    EXPECT_EQ(noted[0].type, EventType::kInvoke);
    EXPECT_EQ(noted[1].type, EventType::kFail);
    EXPECT_EQ(noted[2].type, EventType::kInvoke);
    EXPECT_EQ(noted[3].type, EventType::kOk);
    EXPECT_EQ(noted[3].ops.at(0).list, (List{1, 2}));
  }

  const std::unique_ptr<Database> database_ = Database::open(tests::manual_options()).value();
  const Lists lists_{database_->create_table("lists").value()};
  const AppendOptions options_;
  KeySlots slots_{options_.keys, options_.max_length};
  const history::Key key_ = slots_.next(0).key;
  const ClientPlace place_{.database = *database_, .lists = lists_, .slots = slots_, .options = options_, .clients = 2};
  Worker worker_ = database_->register_worker().value();
  Client reader_{worker_, place_, 1};
  history::Element elements_ = 0;
};

TEST_F(QuietRead, TriesAgainWhenTheListHasChangedBeforeItsCommit) {
  bool changed = false;
  base::set_sync_hook([&](std::string_view point) {
    if (point == "commit.locked" && !std::exchange(changed, true)) append();
  });
  const Status read = reader_.read_quietly({key_});
  base::set_sync_hook({});
  expect_second_attempt(read);
}

TEST_F(QuietRead, TriesAgainWhenTheListIsLocked) {
  std::atomic<bool> locked{false};
  std::thread writer([&] {
    base::set_sync_hook([&](std::string_view point) {
      if (point != "commit.locked" || locked) return;
      locked = true;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      const auto busy = static_cast<std::size_t>(AbortReason::kRecordBusy);
      while (database_->statistics().aborts[busy] == 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    append();
    base::set_sync_hook({});
  });
  while (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Status read = reader_.read_quietly({key_});
  writer.join();
  EXPECT_TRUE(read.ok()) << read.message();
  ASSERT_GE(reader_.noted().size(), 4u);
  EXPECT_EQ(reader_.noted()[1].type, EventType::kFail);
  EXPECT_EQ(reader_.noted().back().type, EventType::kOk);
  EXPECT_EQ(reader_.noted().back().ops.at(0).list, (List{1, 2}));
}

}  // namespace
}  // namespace granary::bench::append
