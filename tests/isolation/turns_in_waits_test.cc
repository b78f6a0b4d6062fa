// Transactions of one worker take turns, and one of them waits for a lock in its commit, while the others commit (I30).
// The tests show that it relies on nothing that the others have changed. A thread with another worker holds the record
// that is waited for.

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"
#include "tests/support/protocol_setting.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

/// Whether commits claim local records one by one, and wait for those that others hold.
bool claims_one_by_one() {
  return asked_htm == Htm::kOff && !asked_protocol.runs_in_region && !asked_protocol.locks_reads;
}

/// A thread whose transaction has claimed a record until it is told to go on.
class Holder {
 public:
  /// `body` reads and writes; its commit stops when it has claimed what it writes.
  Holder(Database& database, std::function<void(Transaction&)> body)
      : thread_([this, worker = database.register_worker().value(), body = std::move(body)]() mutable {
          worker.attach_thread();
          const AtSyncPoint locked("commit.locked", [this] {
            holds_ = true;
            while (!let_go_) std::this_thread::yield();
          });
          Transaction t = worker.begin();
          body(t);
          committed_ = t.commit().committed();
          ended_ = true;
        }) {
    while (!holds_) std::this_thread::yield();
  }
  ~Holder() {
    let_go_ = true;
    thread_.join();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  /// Lets it go on, and returns whether it has committed.
  bool let_go() {
    let_go_ = true;
    while (!ended_) std::this_thread::yield();
    return committed_;
  }

 private:
  std::atomic<bool> holds_{false}, let_go_{false}, ended_{false}, committed_{false};
  std::thread thread_;  // last: it uses the others
};

/// The log's ring has room for either entry, and not for both. The first finds it, waits for a lock, and the second
/// takes it.
TEST(TurnsInWaits, FindRoomInTheLogBehindThem) {
  if (!claims_one_by_one()) GTEST_SKIP() << asked_protocol.name << " does not wait for claims here";
  const RingDirectory directory;
  Options options = manual_options();
  options.directory = options.reliable_directory = directory.path();
  options.ring_bytes = std::uint64_t{64} << 10;
  ManualDatabase db(1, options);
  const Table table = db.table("t", {.max_value_bytes = 48 << 10});
  for (const char* key : {"first", "second"}) db.put(table, key, "old");
  const std::string large(std::size_t{40} << 10, 'v');
  Holder holder(*db, [&](Transaction& t) { (void)t.put(table, "first", "held"); });
  unsigned committed = 0;
  db.worker().run_together(2, [&](std::size_t i) {
    const char* const key = i == 0 ? "first" : "second";
    if (db.worker().run([&](Transaction& t) { (void)t.put(table, key, large); }).committed()) ++committed;
    if (i == 1) {
      EXPECT_TRUE(holder.let_go());
    }
  });
  EXPECT_EQ(committed, 2u);
  for (const char* key : {"first", "second"}) EXPECT_EQ(db.value(table, key), large);
}

/// Under snapshot isolation a commit notes which versions it will overwrite, claims the records, and compares. The
/// first waits for a claim, and meanwhile the second notes what it will overwrite: a newer version of the same record.
/// The counter would lose an update.
TEST(TurnsInWaits, KeepWhatTheyHaveNoted) {
  if (!claims_one_by_one() || !asked_protocol.in_real_time)
    GTEST_SKIP() << asked_protocol.name << " notes nothing before its claims";
  for (const bool counter_first : {false, true}) {  // records are claimed in the order of their addresses
    ManualDatabase db(2);
    const Table table = db.table("t");
    for (const char* key : {"changed", counter_first ? "counter" : "held", counter_first ? "held" : "counter"})
      db.put(table, key, "0");
    const auto add = [&](Transaction& t) {
      std::string value;
      if (t.get(table, "counter", value) != Outcome::kOk) return;
      (void)t.put(table, "counter", std::to_string(std::stoi(value) + 1));
    };
    // It aborts when it goes on, and gives the record back unchanged, since what it has read changes meanwhile.
    Holder holder(*db, [&](Transaction& t) {
      std::string value;
      (void)t.get(table, "changed", value);
      (void)t.put(table, "held", "1");
    });
    db.put(table, "changed", "1");
    int noted = 0, added = 0;  // commits that have noted versions; updates of the counter
    base::set_sync_hook([&](std::string_view point) {
      if (point == "snapshot.reads_checked") ++noted;
    });
    db.worker().run_together(3, [&](std::size_t i) {
      while (noted < static_cast<int>(i)) db.worker().let_others_run();
      if (i == 2) {
        EXPECT_FALSE(holder.let_go());
        return;
      }
      if (i == 1 && db.worker(1).run(add, {.max_attempts = 1}).committed()) ++added;
      const auto body = [&](Transaction& t) {
        (void)t.put(table, "held", "2");
        add(t);
      };
      const TransactionOptions snapshot{.isolation = Isolation::kSnapshot};
      if (db.worker().run(body, {.transaction = snapshot}).committed()) ++added;
    });
    base::set_sync_hook({});
    EXPECT_EQ(db.value(table, "counter"), std::to_string(added)) << counter_first;
    EXPECT_GE(added, 2);
  }
}

}  // namespace
}  // namespace granary::tests
