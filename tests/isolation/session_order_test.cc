// Options::session_order: commit times of one worker ascend. TicToc alone needs the option; without it a transaction
// may be serial before one that its own worker has committed earlier.

#include <random>
#include <string>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

Options options_of(std::string protocol, bool session_order) {
  Options options = manual_options();
  options.protocol = std::move(protocol);
  options.session_order = session_order;
  return options;
}

/// Three workers: the session to look at, another one, and one that makes times late.
class Sessions {
 public:
  explicit Sessions(const Options& options) : db_(3, options) {
    for (const char* key : {"x", "y", "r", "hot"}) db_.put(table_, key, "old");
    db_.pass_epochs(2);
    for (int i = 0; i < 100; ++i) put(maker(), "hot", "late");
  }

  Worker& session() { return db_.worker(0); }
  Worker& other() { return db_.worker(1); }
  Worker& maker() { return db_.worker(2); }

  std::string get(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table_, key, value);
    return got == Outcome::kOk ? value : std::string(name(got));
  }
  /// Commits a transaction that reads one key, and returns what it has read.
  std::string get(Worker& worker, std::string_view key) {
    Transaction t = worker.begin();
    std::string value = get(t, key);
    EXPECT_TRUE(t.commit().committed());
    return value;
  }
  /// Commits a transaction that writes one key, and returns its TID.
  std::uint64_t put(Worker& worker, std::string_view key, std::string_view value) {
    Transaction t = worker.begin();
    EXPECT_EQ(t.put(table_, key, value), Outcome::kOk);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    return done.ticket.tid;
  }

  /// The other worker's transaction T reads x as it was, and writes y. Meanwhile the session learns in `first` that x
  /// has changed since, and then reads y as it was. So T is before the session's first transaction, and behind its
  /// second one. Returns whether T commits.
  bool commits_around_session(FunctionRef<void()> first) {
    // x as it was is valid until late, which T sees.
    Transaction late = maker().begin();
    EXPECT_EQ(get(late, "x"), "old");
    EXPECT_EQ(get(late, "hot"), "late");
    EXPECT_EQ(late.put(table_, "r", "new"), Outcome::kOk);
    EXPECT_TRUE(late.commit().committed());
    Transaction t = other().begin();
    EXPECT_EQ(get(t, "x"), "old");
    first();
    EXPECT_EQ(get(session(), "y"), "old");
    EXPECT_EQ(t.put(table_, "y", "new"), Outcome::kOk);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed() || is_retryable(done.reason)) << name(done.reason);
    return done.committed();
  }
  bool commits_around_writer_and_reader() {
    return commits_around_session([this] { put(session(), "x", "new"); });
  }
  bool commits_around_two_readers() {
    return commits_around_session([this] {
      put(maker(), "x", "new");
      EXPECT_EQ(get(session(), "x"), "new");
    });
  }

  /// Runs transactions of the session and of another worker, which read and write a few keys. Returns how many of the
  /// session's TIDs were not greater than the one before.
  int descents(unsigned seed) {
    std::mt19937 random(seed);
    std::uint64_t last = 0;
    int descents = 0;
    for (int i = 0; i < 400; ++i) {
      const auto key = [&random] { return std::string(1, static_cast<char>('a' + random() % 4)); };
      const bool of_session = random() % 2 == 0;
      Transaction t = (of_session ? session() : other()).begin();
      if (random() % 2 == 0) get(t, key());
      EXPECT_EQ(t.put(table_, key(), "1"), Outcome::kOk);
      const CommitResult done = t.commit();
      EXPECT_TRUE(done.committed()) << name(done.reason);
      if (of_session) {
        descents += done.ticket.tid <= last ? 1 : 0;
        last = done.ticket.tid;
      }
      if (random() % 50 == 0) db_->step();
    }
    return descents;
  }

 private:
  ManualDatabase db_;
  Table table_ = db_->create_table("rows").value();
};

Sessions with_order() { return Sessions(options_of("tictoc", true)); }
Sessions without_order() { return Sessions(options_of("tictoc", false)); }

TEST(SessionOrder, AWriteIsBehindTheOneBeforeIt) {
  Sessions sessions = with_order();
  const std::uint64_t first = sessions.put(sessions.session(), "hot", "1");
  EXPECT_GT(sessions.put(sessions.session(), "y", "1"), first);
}
TEST(SessionOrder, WithoutItAWriteMayBeBeforeTheOneBeforeIt) {
  Sessions sessions = without_order();
  const std::uint64_t first = sessions.put(sessions.session(), "hot", "1");
  EXPECT_LT(sessions.put(sessions.session(), "y", "1"), first);
}

TEST(SessionOrder, AWriteIsBehindWhatItsWorkerHasRead) {
  Sessions sessions = with_order();
  const std::uint64_t seen = sessions.put(sessions.maker(), "hot", "1");
  EXPECT_EQ(sessions.get(sessions.session(), "hot"), "1");
  EXPECT_GT(sessions.put(sessions.session(), "y", "1"), seen);
}

TEST(SessionOrder, TimesAscendThroughManyTransactions) {
  for (unsigned seed = 0; seed < 5; ++seed) EXPECT_EQ(with_order().descents(seed), 0) << "seed " << seed;
  EXPECT_GT(without_order().descents(0), 0) << "the transactions show nothing";
}

TEST(SessionOrder, AReadIsNotBeforeTheWorkersWrite) {
  EXPECT_FALSE(with_order().commits_around_writer_and_reader());
  EXPECT_TRUE(without_order().commits_around_writer_and_reader());
}
TEST(SessionOrder, AReadIsNotBeforeTheWorkersRead) {
  EXPECT_FALSE(with_order().commits_around_two_readers());
  EXPECT_TRUE(without_order().commits_around_two_readers());
}

TEST(SessionOrder, OtherProtocolsKeepItAnyway) {
  if (!asked_protocol.in_real_time) GTEST_SKIP() << "not this one";
  for (const bool asked : {true, false})
    EXPECT_EQ(Sessions(options_of(asked_protocol.name, asked)).descents(1), 0) << asked;
}

}  // namespace
}  // namespace granary::tests
