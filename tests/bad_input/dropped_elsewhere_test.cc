// Transactions and snapshots that a thread drops which is not their worker's: the worker ends them at its next call.

#include <mutex>
#include <thread>

#include <gmock/gmock.h>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

class DroppedElsewhere : public testing::Test {
 protected:
  /// Begins a transaction with a write, and lets another thread drop it.
  void drop_one(std::string_view key = "dropped") {
    auto t = std::make_unique<Transaction>(db_.worker(0).begin());
    EXPECT_EQ(t->put(table_, key, "v"), Outcome::kOk);
    std::thread([&] { t.reset(); }).join();
  }
  /// Whether the epoch goes on: a transaction that stays open lets it pass once at most.
  bool epochs_pass() {
    for (int i = 0; i < 4; ++i) {
      if (!db_->step()) return false;
    }
    return true;
  }

  ManualDatabase db_;
  Table table_ = db_.table("t");
};

TEST_F(DroppedElsewhere, TheNextBeginEndsIt) {
  drop_one();
  EXPECT_FALSE(epochs_pass()) << "the worker has done nothing yet";
  { const Transaction next = db_.worker(0).begin(); }
  EXPECT_TRUE(epochs_pass());
  EXPECT_EQ(db_.value(table_, "dropped"), "(none)");
  EXPECT_EQ(db_->statistics().aborts[static_cast<std::size_t>(AbortReason::kUser)], 2U);
}

TEST_F(DroppedElsewhere, TheNextSnapshotEndsIt) {
  drop_one();
  { const Snapshot next = db_.worker(0).snapshot(); }
  EXPECT_TRUE(epochs_pass());
}

TEST_F(DroppedElsewhere, TheNextCommitEndsIt) {
  Transaction other = db_.worker(0).begin();
  EXPECT_EQ(other.put(table_, "other", "v"), Outcome::kOk);
  drop_one();
  EXPECT_TRUE(other.commit().committed());
  EXPECT_TRUE(epochs_pass());
  EXPECT_EQ(db_.value(table_, "other"), "v");
}

TEST_F(DroppedElsewhere, TheNextCollectionOfGarbageEndsIt) {
  drop_one();
  db_.worker(0).collect_garbage();
  EXPECT_TRUE(epochs_pass());
}

TEST_F(DroppedElsewhere, AnotherThreadThatGetsTheWorkerEndsIt) {
  drop_one();
  std::thread([&] {
    db_.worker(0).attach_thread();
    db_.worker(0).collect_garbage();
  }).join();
  EXPECT_TRUE(epochs_pass());
}

/// Bodies that take turns may use only what they have begun themselves, and yet have to end what nobody can use.
TEST_F(DroppedElsewhere, WithinABodyThatTakesTurns) {
  for (const bool same : {true, false}) {
    int bodies = 0;
    bool dropped = false;
    db_.worker(0).run_together(2, [&](std::size_t body) {
      if (body == 0) {
        drop_one();
        dropped = true;
      }
      while (!dropped) db_.worker(0).let_others_run();
      if ((body == 0) == same) {
        {
          const Transaction next = db_.worker(0).begin();
        }
        EXPECT_TRUE(epochs_pass()) << "a transaction of body " << body << " ends it";
      }
      ++bodies;
    });
    EXPECT_EQ(bodies, 2);
  }
}

/// A body drops what another body of the same thread has begun.
TEST_F(DroppedElsewhere, ByAnotherBody) {
  std::unique_ptr<Transaction> shared;
  db_.worker(0).run_together(2, [&](std::size_t body) {
    if (body == 0) {
      shared = std::make_unique<Transaction>(db_.worker(0).begin());
      db_.worker(0).let_others_run();
      return;
    }
    shared.reset();
    { const Transaction next = db_.worker(0).begin(); }
    EXPECT_TRUE(epochs_pass());
  });
}

TEST_F(DroppedElsewhere, ByAnAssignment) {
  Transaction t = db_.worker(0).begin();
  std::thread([&] { t = {}; }).join();
  db_.worker(0).collect_garbage();
  EXPECT_TRUE(epochs_pass());
}

/// Each would take a context of the worker for good.
TEST_F(DroppedElsewhere, ManyOfThem) {
  for (std::uint32_t i = 0; i < 3 * kMaxOpenTransactions; ++i) drop_one("dropped" + std::to_string(i));
  Transaction t = db_.worker(0).begin();
  EXPECT_EQ(scan_text(t, table_), "");
  EXPECT_TRUE(t.commit().committed());
  EXPECT_TRUE(epochs_pass());
}

/// The doomed transaction has left its epoch, but would keep its context.
TEST_F(DroppedElsewhere, OneThatWasDoomed) {
  const Table unique = db_.table("unique");
  const IndexOptions by_value{.parts = {{IndexPart::Source::kValue, 0, 1}}, .unique = true};
  ASSERT_TRUE(db_->create_index(unique, "by value", by_value).ok());
  db_.put(unique, "k", "v");
  for (std::uint32_t i = 0; i < 2 * kMaxOpenTransactions; ++i) {
    auto t = std::make_unique<Transaction>(db_.worker(0).begin());
    EXPECT_EQ(t->put(unique, "other", "v"), Outcome::kAborted);
    EXPECT_EQ(t->doom(), AbortReason::kUniqueViolation);
    std::thread([&] { t.reset(); }).join();
  }
  EXPECT_TRUE(epochs_pass());
}

/// A handle of a transaction that has ended says nothing of the next one in the same context.
TEST_F(DroppedElsewhere, OneThatHasEndedBefore) {
  auto worker = std::make_unique<Worker>(db_->register_worker().value());
  auto old = std::make_unique<Transaction>(worker->begin());
  worker.reset();  // ends it
  worker = std::make_unique<Worker>(db_->register_worker().value());
  Transaction t = worker->begin();
  EXPECT_EQ(t.put(table_, "k", "v"), Outcome::kOk);
  std::thread([&] { old.reset(); }).join();
  worker->collect_garbage();
  EXPECT_TRUE(t.open());
  EXPECT_TRUE(t.commit().committed());
}

/// An abort() from elsewhere is refused, as any call: the handle is still there.
TEST_F(DroppedElsewhere, AnAbortIsNoDrop) {
  Transaction t = db_.worker(0).begin();
  std::thread([&] { t.abort(); }).join();
  db_.worker(0).collect_garbage();
  EXPECT_TRUE(t.open());
  EXPECT_TRUE(t.commit().committed());
}

TEST_F(DroppedElsewhere, ASnapshot) {
  db_.put(table_, "k", "v");
  db_.pass_snapshot_period();
  for (std::uint32_t i = 0; i < 2 * kMaxOpenTransactions; ++i) {
    auto snapshot = std::make_unique<Snapshot>(db_.worker(0).snapshot());
    EXPECT_NE(snapshot->epoch(), 0U);
    std::thread([&] { snapshot.reset(); }).join();
  }
  db_.worker(0).collect_garbage();
  db_.remove(table_, "k");
  db_.collect_everything();
  EXPECT_EQ(db_->statistics().version_bytes, 0U) << "nothing keeps what the snapshots saw";
}

/// The database has threads of its own, which watch for stalls.
TEST(DroppedElsewhereNotice, TellsWhoDroppedIt) {
  std::mutex mutex;
  std::vector<std::string> told;  // guarded by mutex
  Options options = manual_options();
  options.background = Background::kThreads;
  options.epoch_ms = 5;
  options.notices = [&](const Notice& notice) {
    const std::lock_guard lock(mutex);
    if (notice.topic == NoticeTopic::kOpenTransaction) told.push_back(notice.text);
  };
  const auto database = Database::open(options).value();
  Worker worker = database->register_worker().value();
  auto t = std::make_unique<Transaction>(worker.begin());
  std::thread([&] { t.reset(); }).join();
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::lock_guard lock(mutex);
    if (!told.empty()) break;
  }
  const std::lock_guard lock(mutex);
  EXPECT_THAT(told, testing::ElementsAre(testing::HasSubstr("worker 0 has a transaction open that another thread "
                                                            "dropped")));
}

}  // namespace
}  // namespace granary::tests
