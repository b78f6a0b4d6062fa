// A session meets records that another node holds, in transactions and in snapshots; a request that takes too long; and
// what a breakdown counts.

#include <map>
#include <optional>

#include "bench/store/granary_store.h"
#include "tests/isolation/remote_holder.h"
#include "tests/support/manual_database.h"

namespace granary::bench::store {
namespace {

using Rows = TypedTable<std::uint64_t, std::uint64_t>;
using RowLookup = Lookup<Rows, std::uint64_t, std::uint64_t>;

class MeetsHolder : public testing::Test {
 protected:
  MeetsHolder() {
    database_.commit([&](Transaction& t) { EXPECT_EQ(t.put(rows_, 1, 11), Outcome::kOk); });
    database_.pass_snapshot_period();
    holder_.emplace(tests::shared_record(rows_, EncodedKey<std::uint64_t>(1)));
    EXPECT_TRUE(holder_->lock());
  }
  /// Reads while the record is held, and again when it is not any more; returns what the last one saw.
  template <typename Read>
  std::uint64_t read_twice(Read&& read) {
    std::uint64_t row = 0;
    int tries = 0;
    const auto body = [&](auto& t) {
      if (++tries == 2) holder_->release();
      return read(t, row) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
    };
    EXPECT_EQ(session_.run_snapshot({}, aborts_, body), Ending::kCommitted);
    EXPECT_EQ(tries, 2);
    EXPECT_EQ(aborts_[static_cast<std::size_t>(AbortReason::kRecordBusy)], 1u);
    return row;
  }

  tests::ManualDatabase database_;
  const Rows rows_{database_->create_table("rows", {.max_value_bytes = 8, .shared = true}).value()};
  std::optional<tests::RemoteHolder> holder_;
  WorkerSession<HeldWorker> session_{std::make_shared<Worker>(database_->register_worker().value()), base::Random(1)};
  AbortCounts aborts_{};
};

TEST_F(MeetsHolder, ADoomedTransactionThatLooksRolledBackIsTriedAgain) {
  int tries = 0;
  const auto body = [&](auto& t) {
    std::uint64_t row = 0;
    if (++tries == 2) holder_->release();
    return t.get(rows_, std::uint64_t{1}, row) == Outcome::kOk ? Verdict::kCommit : Verdict::kRollBack;
  };
  EXPECT_EQ(session_.run({}, aborts_, body), Ending::kCommitted);
  EXPECT_EQ(tries, 2);
}

/// The body gives up by itself after many attempts, so that this test ends where the request does not.
TEST(Session, ARequestThatAlwaysTakesTooLongIsGivenUp) {
  Options options = tests::manual_options();
  options.max_open_epochs = 3;
  tests::ManualDatabase database(1, options);
  const Rows rows(database->create_table("rows", {.max_value_bytes = 8}).value());
  WorkerSession<HeldWorker> session(std::make_shared<Worker>(database->register_worker().value()), base::Random(1));
  AbortCounts aborts{};
  int attempts = 0;
  const auto body = [&](auto& t) {
    if (++attempts == 50) return Verdict::kRollBack;
    for (int i = 0; i < 6; ++i) (void)database->step();
    std::uint64_t row = 0;
    return t.get(rows, std::uint64_t{1}, row) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
  };
  EXPECT_EQ(session.run({}, aborts, body), Ending::kTooLong);
  EXPECT_EQ(attempts, 10);
  EXPECT_EQ(aborts[static_cast<std::size_t>(AbortReason::kOpenTooLong)], 10u);
}

/// Runs requests of a session with a breakdown.
class TimedSession : public testing::Test {
 protected:
  TimedSession() {
    database_.commit([&](Transaction& t) { EXPECT_EQ(t.put(rows_, 1, 11), Outcome::kOk); });
    database_.pass_snapshot_period();
  }
  template <typename Body>
  Ending run(Body body) {
    return session_->run({}, aborts_, [&](auto& t) { return body(t); });
  }
  Ending write() {
    return run([&](auto& t) {
      return t.overwrite(rows_, std::uint64_t{1}, std::uint64_t{1}) == Outcome::kOk ? Verdict::kCommit
                                                                                    : Verdict::kRetry;
    });
  }
  template <typename Reader>
  Verdict read(Reader& t) {
    std::uint64_t row = 0;
    return t.get(rows_, std::uint64_t{1}, row) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
  }
  /// Ends the session, and returns its figures by name.
  std::map<std::string, double> figures() {
    session_.reset();
    std::map<std::string, double> found;
    for (const ExtraFigure& figure : sum_.take_figures()) found[figure.name] = figure.value;
    return found;
  }

  tests::ManualDatabase database_{1};
  const Rows rows_{database_->create_table("rows", {.max_value_bytes = 8}).value()};
  Breakdown sum_;
  AbortCounts aborts_{};
  std::optional<WorkerSession<HeldWorker>> session_{
      std::in_place, std::make_shared<Worker>(database_->register_worker().value()), base::Random(1), false, &sum_};
};

TEST_F(TimedSession, CountsEachTransactionOfTheMeasurement) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(write(), Ending::kCommitted);  // loading, or a warm-up
  session_->begin_measurement();
  EXPECT_EQ(write(), Ending::kCommitted);  // in an epoch that others had a part of
  database_.pass_snapshot_period();
  EXPECT_EQ(write(), Ending::kCommitted);
  EXPECT_EQ(run([&](auto& t) { return read(t); }), Ending::kCommitted);
  EXPECT_EQ(session_->run_snapshot({}, aborts_, [&](auto& t) { return read(t); }), Ending::kCommitted);
  EXPECT_EQ(run([](auto&) { return Verdict::kRollBack; }), Ending::kRolledBack);
  EXPECT_EQ(figures()["commit_time_transactions"], 3);
}

TEST_F(TimedSession, RequestsThatRollBackAreNotAborted) {
  session_->begin_measurement();
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(run([](auto&) { return Verdict::kRollBack; }), Ending::kRolledBack);
  }
  std::map<std::string, double> shares = figures();
  EXPECT_EQ(shares["time_aborted_percent"], 0);
  EXPECT_GT(shares["time_execution_percent"], 0);
}

TEST_F(TimedSession, SnapshotsAreTimed) {
  EXPECT_EQ(write(), Ending::kCommitted);
  database_.pass_snapshot_period();
  session_->begin_measurement();
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(session_->run_snapshot({}, aborts_, [&](auto& t) { return read(t); }), Ending::kCommitted);
  EXPECT_GT(figures()["time_execution_percent"], 0);
}

TEST_F(MeetsHolder, AGetOfASnapshotIsTriedAgain) {
  EXPECT_EQ(read_twice([&](auto& t, std::uint64_t& row) { return t.get(rows_, std::uint64_t{1}, row); }), 11u);
}

TEST_F(MeetsHolder, ARowThatIsHeldIsNotTakenForMissing) {
  const auto read = [&](auto& t, std::uint64_t& row) {
    RowLookup lookup{rows_, 1, &row, false};
    const Outcome outcome = t.multi_get(std::span(&lookup, 1));
    EXPECT_EQ(lookup.found, outcome == Outcome::kOk);
    return outcome;
  };
  EXPECT_EQ(read_twice(read), 11u);
}

TEST_F(MeetsHolder, AScanOfASnapshotIsTriedAgain) {
  const auto read = [&](auto& t, std::uint64_t& row) {
    return t.scan(rows_, std::uint64_t{0}, std::uint64_t{9}, [&](std::uint64_t, std::uint64_t value) {
      row = value;
      return true;
    });
  };
  EXPECT_EQ(read_twice(read), 11u);
}

TEST_F(MeetsHolder, OtherFailuresOfASnapshotAreNot) {
  int tries = 0;
  const auto body = [&](auto& t) {
    std::uint64_t row = 0;
    ++tries;
    return t.get(rows_, std::uint64_t{2}, row) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
  };
  EXPECT_EQ(session_.run_snapshot({}, aborts_, body), Ending::kGaveUp);
  EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace granary::bench::store
