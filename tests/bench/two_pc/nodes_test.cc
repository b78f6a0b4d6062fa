// Transactions between nodes over TCP on this host: sums that must stay, messages that are counted, callers that make
// no sense, a node that goes away.

#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "bench/store/two_pc/work.h"
#include "src/base/random.h"
#include "tests/bench/two_pc/nodes.h"
#include "tests/support/scale.h"

namespace granary::bench::two_pc {
namespace {

using store::Verdict;

enum class Key : std::uint64_t {};
struct Account {
  std::int64_t cents;
};
using Accounts = Table<Key, Account>;
using Lookup = store::Lookup<Accounts, Key, Account>;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint64_t kAccounts = 24;  // of the nodes in turn, so that neighbours are apart
constexpr std::int64_t kStart = 100;

class TwoPcNodes : public testing::Test {
 protected:
  TwoPcNodes() {
    const auto home = [](std::uint64_t key) { return static_cast<std::uint32_t>(key % kNodes); };
    for (std::uint32_t node = 0; node < kNodes; ++node)
      tables_.push_back(*nodes_[node].create_table<Key, Account>("accounts", 0, {.hash = true, .home = home}));
    const auto fill = [&](Transaction& t) {
      for (std::uint64_t i = 0; i < kAccounts; ++i)
        EXPECT_EQ(t.insert(tables_[0], Key{i}, Account{kStart}), Outcome::kOk);
      return Verdict::kCommit;
    };
    EXPECT_EQ(session(0)->run({}, aborts_, fill), Ending::kCommitted);
  }
  std::unique_ptr<Session> session(std::uint32_t node, std::uint64_t seed = 1) {
    return std::move(*nodes_[node].session(seed));
  }
  /// `told`: whether the reads say that the rows will be written.
  static Verdict transfer(Transaction& t, const Accounts& table, Key from, Key to, bool told) {
    Account a{}, b{};
    Lookup both[] = {{table, from, &a, false, told}, {table, to, &b, false, told}};
    if (t.multi_get(std::span(&both[0], 2)) != Outcome::kOk) return Verdict::kRetry;
    if (!both[0].found || !both[1].found) return Verdict::kRollBack;
    if (t.overwrite(table, from, Account{a.cents - 1}) != Outcome::kOk) return Verdict::kRetry;
    return t.overwrite(table, to, Account{b.cents + 1}) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
  }
  Ending transfer(Session& session, std::uint32_t node, std::uint64_t from, std::uint64_t to, bool told = true) {
    return session.run({}, aborts_,
                       [&](Transaction& t) { return transfer(t, tables_[node], Key{from}, Key{to}, told); });
  }
  std::int64_t cents(Session& session, std::uint32_t node, std::uint64_t key) {
    Account account{};
    const auto read = [&](Transaction& t) {
      return t.get(tables_[node], Key{key}, account) == Outcome::kOk ? Verdict::kCommit : Verdict::kRetry;
    };
    AbortCounts aborts{};
    EXPECT_EQ(session.run({}, aborts, read), Ending::kCommitted);
    return account.cents;
  }
  void work(std::uint32_t node, std::uint64_t seed, std::uint64_t transactions);

  Nodes nodes_{kNodes};
  std::vector<Accounts> tables_;
  AbortCounts aborts_{};
};

/// Moves money within pairs of neighbours, which are on different nodes, and looks at pairs: each has the same money
/// always.
void TwoPcNodes::work(std::uint32_t node, std::uint64_t seed, std::uint64_t transactions) {
  const auto own = session(node, seed);
  const Accounts& table = tables_[node];
  base::Random random(seed);
  AbortCounts aborts{};
  for (std::uint64_t i = 0; i < transactions; ++i) {
    const std::uint64_t pair = random.below(kAccounts / 2) * 2, first = random.below(2);
    const Key from{pair + first}, to{pair + 1 - first};
    if (random.below(3) != 0) {
      const bool told = random.below(2) == 0;
      EXPECT_EQ(own->run({}, aborts, [&](Transaction& t) { return transfer(t, table, from, to, told); }),
                Ending::kCommitted);
      continue;
    }
    Account a{}, b{};
    const auto look = [&](Transaction& t) {  // in two steps, so that others may come in between
      if (t.get(table, from, a) != Outcome::kOk || t.get(table, to, b) != Outcome::kOk) return Verdict::kRetry;
      return Verdict::kCommit;
    };
    EXPECT_EQ(own->run({}, aborts, look), Ending::kCommitted);
    EXPECT_EQ(a.cents + b.cents, 2 * kStart) << pair;
  }
}

TEST_F(TwoPcNodes, MoneyIsNeitherMadeNorLost) {
  constexpr std::uint32_t kWorkers = 2;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kNodes * kWorkers; ++i)
    threads.emplace_back([this, i] { work(i % kNodes, 100 + i, tests::scaled(150)); });
  for (std::thread& thread : threads) thread.join();
  const auto reader = session(1);
  for (std::uint64_t pair = 0; pair < kAccounts; pair += 2)
    EXPECT_EQ(cents(*reader, 1, pair) + cents(*reader, 1, pair + 1), 2 * kStart) << pair;
}

TEST_F(TwoPcNodes, AMessageForEachParticipantAndPhase) {
  using Cost = std::pair<std::uint64_t, std::uint64_t>;  // round trips, messages
  const auto own = session(0);
  const auto costs = [&](const auto& run) {
    const Traffic before = own->traffic();
    run();
    const Traffic& after = own->traffic();
    return Cost(after.round_trips - before.round_trips, after.messages - before.messages);
  };
  const auto of_transfer = [&](std::uint64_t from, std::uint64_t to) {
    return costs([&] { EXPECT_EQ(transfer(*own, 0, from, to), Ending::kCommitted); });
  };
  EXPECT_EQ(of_transfer(0, 3), Cost(0, 0)) << "all here";
  EXPECT_EQ(of_transfer(0, 1), Cost(2, 3)) << "read, prepare; commit";
  EXPECT_EQ(of_transfer(1, 2), Cost(2, 6)) << "the same at two at a time";
  EXPECT_EQ(of_transfer(1, 4), Cost(2, 2)) << "one node has all: read, finish";
  EXPECT_EQ(costs([&] { EXPECT_EQ(cents(*own, 0, 1), kStart - 1); }), Cost(1, 2)) << "read; release";
}

TEST_F(TwoPcNodes, ARowThatIsReadToBeWrittenIsLockedExclusively) {
  const auto own = session(0), other = session(1);
  for (const std::uint64_t key : {0, 1}) {  // of node 0 and of another
    const auto hold = [&](Transaction& t) {
      Account account{};
      EXPECT_EQ(store::get_to_write(t, tables_[0], Key{key}, account), Outcome::kOk);
      const auto look = [&](Transaction& rival) {
        EXPECT_EQ(rival.get(tables_[1], Key{key}, account), Outcome::kAborted) << key;
        return Verdict::kRollBack;
      };
      EXPECT_EQ(other->run({}, aborts_, look), Ending::kRolledBack);
      return Verdict::kRollBack;
    };
    EXPECT_EQ(own->run({}, aborts_, hold), Ending::kRolledBack);
  }
}

/// The engine that the baseline is compared with does not sleep either before it tries again.
TEST(TwoPcSession, TriesAgainWithoutSleepAtFirst) {
  for (std::uint32_t attempt = 0; attempt <= kMostDoublings; ++attempt) EXPECT_EQ(Session::most_sleep_us(attempt), 0u);
  EXPECT_EQ(Session::most_sleep_us(kMostDoublings + 1), 50u);
  EXPECT_EQ(Session::most_sleep_us(kMostDoublings + 2), 100u);
  for (const std::uint32_t attempt : {100u, 100'000u}) EXPECT_EQ(Session::most_sleep_us(attempt), 6400u);
}

TEST_F(TwoPcNodes, WhatASessionHasCommittedIsDoneWhenItHasEnded) {
  const auto other = session(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(transfer(*session(0), 0, 0, 1), Ending::kCommitted);
    const auto once = [&](Transaction& t) {
      Account account{};
      const bool read = t.get(tables_[1], Key{1}, account) == Outcome::kOk;
      return read && account.cents == kStart + i + 1 ? Verdict::kCommit : Verdict::kRollBack;
    };
    EXPECT_EQ(other->run({}, aborts_, once), Ending::kCommitted) << i;
  }
}

TEST_F(TwoPcNodes, ATransactionSeesItsOwnWritesAndRollsBack) {
  const auto own = session(0);
  const auto body = [&](Transaction& t) {
    Account account{7};
    EXPECT_EQ(t.overwrite(tables_[0], Key{1}, account), Outcome::kOk);
    account = {};
    EXPECT_EQ(t.get(tables_[0], Key{1}, account), Outcome::kOk);
    EXPECT_EQ(account.cents, 7);
    EXPECT_EQ(t.remove(tables_[0], Key{0}), Outcome::kOk);
    EXPECT_EQ(t.get(tables_[0], Key{0}, account), Outcome::kNotFound);
    return Verdict::kRollBack;
  };
  EXPECT_EQ(own->run({}, aborts_, body), Ending::kRolledBack);
  EXPECT_EQ(cents(*own, 0, 0) + cents(*own, 0, 1), 2 * kStart);
}

TEST_F(TwoPcNodes, WhatCouldNotBeReadCannotBeCommitted) {
  const auto own = session(0), other = session(1);
  int attempts = 0;
  const auto hold = [&](Transaction& t) {
    Account account{};
    Lookup lookup{tables_[1], Key{1}, &account, false, true};
    EXPECT_EQ(t.multi_get(std::span(&lookup, 1)), Outcome::kOk);
    const auto ignore = [&](Transaction& mine) {  // that the row is locked
      static_cast<void>(mine.get(tables_[0], Key{1}, account));
      return ++attempts < 3 ? Verdict::kCommit : Verdict::kRollBack;
    };
    EXPECT_EQ(own->run({}, aborts_, ignore), Ending::kRolledBack);
    return Verdict::kRollBack;
  };
  AbortCounts aborts{};
  EXPECT_EQ(other->run({}, aborts, hold), Ending::kRolledBack);
  EXPECT_EQ(aborts_[static_cast<std::size_t>(AbortReason::kRecordBusy)], 2u);
}

TEST_F(TwoPcNodes, ANodeThatIsGoneEndsWhatNeedsItAndNothingElse) {
  const auto own = session(0), late = session(1);
  EXPECT_EQ(transfer(*own, 0, 0, 2), Ending::kCommitted);
  nodes_.stop(2);
  EXPECT_EQ(transfer(*own, 0, 0, 2), Ending::kGaveUp);
  EXPECT_EQ(transfer(*late, 1, 1, 2), Ending::kGaveUp) << "who was not connected before";
  EXPECT_EQ(aborts_[static_cast<std::size_t>(AbortReason::kNodeUnreachable)], 2u);
  EXPECT_EQ(transfer(*own, 0, 0, 1), Ending::kCommitted) << "it has left no locks";
}

/// A connection by hand to node 1, which has key 1 among others.
class TwoPcCaller : public TwoPcNodes {
 protected:
  TwoPcCaller() {
    auto socket = connect_to(entry_.address, entry_.port);
    EXPECT_TRUE(socket.ok());
    const timeval patience{10, 0};  // so that nothing hangs that is not dropped
    ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    stream_.emplace(std::move(*socket));
  }
  void say(Kind kind, std::string_view body) {
    stream_->add(kind, body);
    EXPECT_TRUE(stream_->flush());
  }
  void greet(Token token) {
    std::string body;
    put(body, token);
    say(Kind::kHello, body);
  }
  bool is_dropped() {
    Stream::Came came{};
    while ((came = stream_->receive()) == Stream::Came::kSomething) {
    }
    return came == Stream::Came::kEnd;
  }
  bool answers_yes() {
    Frame frame;
    while (!stream_->next(frame)) {
      if (stream_->receive() != Stream::Came::kSomething) return false;
    }
    return is_yes(frame.body);
  }

  const Entry entry_ = *AddressBook::open(nodes_.directory())->read(1);
  std::optional<Stream> stream_;
};

TEST_F(TwoPcCaller, WithoutTheTokenIsDropped) {
  say(Kind::kRead, body_of_read(std::vector<Wanted>{{{0, 0, 1}}}));
  EXPECT_TRUE(is_dropped());
}

TEST_F(TwoPcCaller, WithAnotherTokenIsDropped) {
  greet({entry_.token[0], entry_.token[1] + 1});
  EXPECT_TRUE(is_dropped());
}

TEST_F(TwoPcCaller, WhoMakesNoSenseIsDroppedAndOthersAreServed) {
  greet(entry_.token);
  say(Kind::kRead, body_of_read(std::vector<Wanted>{{{0, 0, 1}, 1}}));
  EXPECT_TRUE(answers_yes());
  say(Kind::kPrepare, "what?");
  EXPECT_TRUE(is_dropped());
  EXPECT_EQ(transfer(*session(0), 0, 0, 1), Ending::kCommitted) << "and what it has locked is free";
}

TEST_F(TwoPcCaller, AFrameTooLargeIsRefusedBeforeItIsThere) {
  greet(entry_.token);
  std::string header;
  put(header, Header{kMostBytes + 1, Kind::kPrepare});
  EXPECT_EQ(::send(stream_->descriptor(), header.data(), header.size(), MSG_NOSIGNAL), std::ssize(header));
  EXPECT_TRUE(is_dropped());
}

TEST_F(TwoPcCaller, WhoGoesAwayAfterPreparingHasChangedNothing) {
  greet(entry_.token);
  say(Kind::kPrepare, body_of_writes(std::vector<Write>{{{0, 0, 1}, Write::Kind::kRemove}}));
  EXPECT_TRUE(answers_yes());
  stream_.reset();
  EXPECT_EQ(transfer(*session(0), 0, 0, 1), Ending::kCommitted);
  EXPECT_EQ(cents(*session(1), 1, 1), kStart + 1);
}

TEST(TwoPcAddressBook, OthersMayNotEnter) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "run/two_pc";
  ASSERT_TRUE(AddressBook::open(path).ok());
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(directory / "run").permissions(), perms::owner_all);
  std::filesystem::permissions(path, perms::others_read, std::filesystem::perm_options::add);
  EXPECT_EQ(AddressBook::open(path).status().code(), StatusCode::kUnavailable);
}

TEST(TwoPcAddressBook, HasWhatWasWritten) {
  const tests::TemporaryDirectory directory;
  const auto book = AddressBook::open(directory / "book");
  ASSERT_TRUE(book.ok());
  EXPECT_FALSE(book->read(3).ok());
  const Token token{~std::uint64_t{0}, 5};
  ASSERT_TRUE(book->write(3, {"::1", 65535, token}).ok());
  const auto entry = book->read(3);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->address, "::1");
  EXPECT_EQ(entry->port, 65535);
  EXPECT_EQ(entry->token, token);
  std::ofstream(directory / "book/node-3") << "::1 65536";
  EXPECT_EQ(book->read(3).status().code(), StatusCode::kDamaged);
}

}  // namespace
}  // namespace granary::bench::two_pc
