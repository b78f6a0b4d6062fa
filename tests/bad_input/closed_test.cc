// Calls after close(): what would change something, or wait for it, is refused, so that nothing is lost without a word.

#include <gmock/gmock.h>

#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

MATCHER(IsRefusedAsClosed, "") {
  return arg.code() == StatusCode::kFailedPrecondition &&
         testing::ExplainMatchResult(testing::HasSubstr("the database is closed"), arg.message(), result_listener);
}

/// With a directory, or in memory only.
class Closed : public testing::TestWithParam<bool> {
 protected:
  Closed() {
    if (!GetParam()) return;
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
  }
  void open() {
    database_.reset();
    database_ = Database::open(options_).value();
    table_ = database_->create_table("t", {.immutable = true}).value();
    hash_ = database_->create_table("h", {.index = IndexKind::kHash, .expected_keys = 10}).value();
    Worker worker = database_->register_worker().value();
    const RunResult done = worker.run([&](Transaction& t) { (void)t.put(table_, "k", "v"); });
    EXPECT_TRUE(done.committed());
    ticket_ = done.ticket;
  }

  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
  std::unique_ptr<Database> database_;
  Table table_, hash_;
  Ticket ticket_;
};
INSTANTIATE_TEST_SUITE_P(Stored, Closed, testing::Bool(),
                         [](const auto& made) { return made.param ? "InADirectory" : "InMemory"; });

TEST_P(Closed, TakesNothingMore) {
  for (const Background background : {Background::kManual, Background::kThreads}) {
    options_.background = background;
    open();
    ASSERT_TRUE(database_->close().ok());
    EXPECT_THAT(database_->register_worker().status(), IsRefusedAsClosed());
    EXPECT_THAT(database_->create_table("late").status(), IsRefusedAsClosed());
    EXPECT_THAT(database_->create_index(hash_, "i", {.parts = {{IndexPart::Source::kKey, 0, 1}}}).status(),
                IsRefusedAsClosed());
    EXPECT_THAT(database_->resize(hash_, 100), IsRefusedAsClosed());
    EXPECT_THAT(database_->seal(table_), IsRefusedAsClosed());
    EXPECT_THAT(database_->checkpoint(), IsRefusedAsClosed());
    EXPECT_THAT(database_->log_status(), IsRefusedAsClosed());
    EXPECT_FALSE(database_->step());
    EXPECT_TRUE(database_->close().ok()) << "again";
  }
}

/// Results that close() has made durable may be shown. No later one can be.
TEST_P(Closed, TellsWhatIsReleased) {
  open();
  ASSERT_TRUE(database_->close().ok());
  const Status released = database_->wait_released(ticket_, 0);
  EXPECT_TRUE(released.ok()) << released.message();
  EXPECT_THAT(database_->wait_released({.tid = 1, .epoch = ticket_.epoch + 100}), IsRefusedAsClosed());
}

TEST_P(Closed, CanStillBeLookedAt) {
  open();
  ASSERT_TRUE(database_->close().ok());
  EXPECT_TRUE(database_->table("t").ok());
  EXPECT_EQ(database_->table("i").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(database_->statistics().commits, 1U);
  EXPECT_FALSE(database_->recovery_report().recovered);
}

}  // namespace
}  // namespace granary::tests
