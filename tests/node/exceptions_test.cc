// Exceptions in transactions across nodes: one that leaves a body, or a scan's visitor, comes out of the call, and the
// worker stays usable. (Those of procedures are in cluster_test.cc.)

#include <array>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <granary/cluster.h>
#include <gmock/gmock.h>

#include "tests/node/accounts.h"
#include "tests/node/local_cluster.h"
#include "tests/support/allocations.h"

namespace granary {
namespace {

using tests::Account;
using tests::ClusterFile;
using tests::kAccounts;
using tests::make_accounts;
using tests::on_each_node;

constexpr std::int64_t kGiven = 100;

class NodesExceptions : public testing::TestWithParam<IndexKind> {
 protected:
  /// Calls `body` on node 1, while node 2, whose accounts it uses, waits.
  static void run(const std::function<void(ClusterWorker&, const TypedTable<std::uint64_t, Account>&)>& body) {
    run_at([&body](Cluster&, ClusterWorker& worker, const auto& accounts) { body(worker, accounts); });
  }
  static void run_at(
      const std::function<void(Cluster&, ClusterWorker&, const TypedTable<std::uint64_t, Account>&)>& body) {
    const ClusterFile file(2);
    on_each_node(file, 2, [&](Cluster& cluster) {
      const auto accounts = make_accounts(cluster, GetParam());
      const Status started = cluster.start();
      ASSERT_TRUE(started.ok()) << started.message();
      auto worker = cluster.register_worker().value();
      for (std::uint64_t i = 0; i < kAccounts; ++i) {
        const std::uint64_t own = (cluster.node() - 1) * kAccounts + i;
        EXPECT_TRUE(worker->run([&](Transaction& t) { (void)t.put(accounts, own, {kGiven}); }));
      }
      ASSERT_TRUE(cluster.barrier().ok());
      if (cluster.node() == 1) body(cluster, *worker, accounts);
      ASSERT_TRUE(cluster.barrier().ok());
    });
  }
  /// Adds to an account of node 2, which makes the body wait.
  static void add(Transaction& t, const TypedTable<std::uint64_t, Account>& accounts, std::uint64_t i) {
    const auto found = t.get(accounts, kAccounts + i);
    if (found) (void)t.put(accounts, kAccounts + i, {found->balance + 1});
  }
  static std::int64_t balance(ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts,
                              std::uint64_t i) {
    std::int64_t found = 0;
    EXPECT_TRUE(
        worker.run([&](Transaction& t) { found = t.get(accounts, kAccounts + i).value_or(Account{}).balance; }));
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, NodesExceptions, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(NodesExceptions, OneThatLeavesABodyComesOutOfRunTogether) {
  run([](ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
    std::array<bool, 4> committed{};
    const auto body = [&](std::uint32_t i) {
      worker.let_others_run();  // so that all of them have begun
      committed[i] = worker
                         .run([&](Transaction& t) {
                           add(t, accounts, i);
                           if (i == 2) throw std::runtime_error("of body " + std::to_string(i));
                         })
                         .committed();
    };
    try {
      (void)worker.run_together(4, body);
      ADD_FAILURE() << "the exception was lost";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "of body 2");
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(committed[i], i != 2) << "those that have begun end";
      EXPECT_EQ(balance(worker, accounts, i), kGiven + (committed[i] ? 1 : 0)) << i;
    }
    EXPECT_TRUE(worker.run_together(2, body).ok()) << "the worker goes on";
    EXPECT_EQ(balance(worker, accounts, 1), kGiven + 2);
  });
}

TEST_P(NodesExceptions, OneThatLeavesTheFirstBodyKeepsOthersFromBeginning) {
  run([](ClusterWorker& worker, const TypedTable<std::uint64_t, Account>&) {
    int ran = 0;
    const auto body = [&](std::uint32_t) {
      ++ran;
      throw std::runtime_error("at once");
    };
    EXPECT_THROW((void)worker.run_together(4, body), std::runtime_error);
    EXPECT_EQ(ran, 1);
  });
}

TEST_P(NodesExceptions, OnesThatBodiesCatchAreTheirOwn) {
  run([](ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
    std::array<std::string, 4> caught;
    const auto body = [&](std::uint32_t i) {
      EXPECT_TRUE(worker.run([&](Transaction& t) {
        try {
          throw std::runtime_error("of body " + std::to_string(i));
        } catch (const std::runtime_error&) {
          add(t, accounts, i);
          try {
            throw;
          } catch (const std::runtime_error& again) {
            caught[i] = again.what();
          }
        }
      }));
    };
    EXPECT_TRUE(worker.run_together(4, body).ok());
    EXPECT_THAT(caught, testing::ElementsAre("of body 0", "of body 1", "of body 2", "of body 3"));
  });
}

TEST_P(NodesExceptions, OneOfAScansVisitorEndsItsTransaction) {
  if (GetParam() == IndexKind::kHash) GTEST_SKIP() << "a hash table is not scanned";
  run([](ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
    const auto fails = [](std::uint64_t, const Account&) -> bool { throw std::runtime_error("of the visitor"); };
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_THROW((void)worker.run([&](Transaction& t) {
        add(t, accounts, i);
        (void)t.scan(accounts, kAccounts, 2 * kAccounts, fails);
      }),
                   std::runtime_error);
      EXPECT_EQ(balance(worker, accounts, i), kGiven);
    }
    EXPECT_TRUE(worker.run([&](Transaction& t) {
      EXPECT_THROW((void)t.scan(accounts, kAccounts, 2 * kAccounts, fails), std::runtime_error);
      add(t, accounts, 0);
    })) << "the transaction goes on";
    EXPECT_EQ(balance(worker, accounts, 0), kGiven + 1);
    const auto lacks_memory = [](std::uint64_t, const Account&) -> bool { throw std::bad_alloc(); };
    EXPECT_TRUE(worker.run([&](Transaction& t) {
      EXPECT_THROW((void)t.scan(accounts, kAccounts, 2 * kAccounts, lacks_memory), std::bad_alloc);
      add(t, accounts, 0);
    })) << "and after a lack of memory of the visitor's own";
    EXPECT_EQ(balance(worker, accounts, 0), kGiven + 2);
    // A snapshot sees the accounts once its period has passed.
    for (std::size_t seen = 0; seen < kAccounts;) {
      Snapshot snapshot = worker.snapshot();
      const auto visit = [](std::uint64_t, const Account&) { return true; };
      seen = snapshot.scan(accounts, kAccounts, 2 * kAccounts, visit).count;
      if (seen < kAccounts) continue;
      EXPECT_THROW((void)snapshot.scan(accounts, kAccounts, 2 * kAccounts, fails), std::runtime_error);
      EXPECT_EQ(snapshot.scan(accounts, kAccounts, 2 * kAccounts, visit).count, kAccounts);
    }
  });
}

TEST_P(NodesExceptions, OneThatKeepsABodyFromBeginningComesOutOfRunTogether) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  run([](ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
    constexpr std::uint32_t kBodies = 4;
    std::uint32_t begun = 0, thrown = 0;
    const auto count = [&](std::uint32_t) { ++begun; };
    for (std::uint64_t fails = 1; fails <= 3 * kBodies; ++fails) {
      begun = 0;
      tests::failing_allocation = tests::allocations + fails;
      try {
        (void)worker.run_together(kBodies, count);
        EXPECT_EQ(begun, kBodies);
      } catch (const std::bad_alloc&) {
        ++thrown;
        EXPECT_EQ(begun, 0u) << "none begins if not all do";
      }
      tests::failing_allocation = 0;
      begun = 0;
      EXPECT_TRUE(worker.run_together(kBodies, count).ok());
      EXPECT_EQ(begun, kBodies) << "and no body of an earlier call";
    }
    EXPECT_GT(thrown, 0u);
    EXPECT_EQ(balance(worker, accounts, 0), kGiven);
  });
}

/// Wherever memory is lacking while bodies wait for another node, none of them waits for ever, and the worker goes on.
TEST_P(NodesExceptions, OneThatComesWhileBodiesWaitEndsTheCall) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  run_at([](Cluster& cluster, ClusterWorker&, const TypedTable<std::uint64_t, Account>& accounts) {
    constexpr std::uint32_t kBodies = 4;
    std::uint64_t fails = 0;
    for (bool failed = true; failed;) {
      ++fails;
      const auto worker = cluster.register_worker().value();  // a new one, which has no memory yet
      std::array<bool, kBodies> committed{};
      // Messages. A commit has to have the memory that it needs.
      const auto ask = [&](std::uint32_t i) { (void)worker->snapshot().get(accounts, kAccounts + i); };
      const auto commit = [&](std::uint32_t i) {
        committed[i] = worker->run([&](Transaction& t) { add(t, accounts, i); }).committed();
      };
      tests::failing_allocation = tests::allocations + fails;
      try {
        (void)worker->run_together(kBodies, ask);
      } catch (const std::bad_alloc&) {
      }
      failed = tests::allocations >= tests::failing_allocation;
      tests::failing_allocation = 0;
      EXPECT_TRUE(worker->run_together(kBodies, ask).ok());
      EXPECT_TRUE(worker->run_together(kBodies, commit).ok());
      EXPECT_THAT(committed, testing::Each(true)) << "after failure " << fails;
      for (std::uint32_t i = 0; i < kBodies; ++i)
        EXPECT_EQ(balance(*worker, accounts, i), kGiven + static_cast<std::int64_t>(fails)) << i;
    }
    constexpr std::uint64_t kOnTheWay = 20;  // at least so many: fibers, mailboxes, questions, answers
    EXPECT_GT(fails, kOnTheWay);
  });
}

/// A key that was noted as read, and never looked for, would seem to be missing. An insert would overwrite its record.
TEST_P(NodesExceptions, AReadWithoutMemoryEndsItsTransaction) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  run_at([](Cluster& cluster, ClusterWorker&, const TypedTable<std::uint64_t, Account>& accounts) {
    const auto key = encode_key<std::uint64_t>(kAccounts);
    std::array<char, sizeof(Account)> buffer;
    const auto visit = [](std::uint64_t, const Account&) { return true; };
    using Read = std::function<Outcome(Transaction&)>;
    std::vector<Read> reads{
        [&](Transaction& t) { return t.get(static_cast<const Table&>(accounts), key, buffer).outcome; },
        [&](Transaction& t) {
          MultiGet get{accounts, key, buffer, {}};
          return t.multi_get({&get, 1});
        }};
    if (GetParam() == IndexKind::kOrdered)
      reads.push_back([&](Transaction& t) { return t.scan(accounts, kAccounts, 2 * kAccounts, visit).outcome; });
    for (std::size_t i = 0; i < reads.size(); ++i) {
      std::uint64_t fails = 0, refused = 0;
      for (bool failed = true; failed;) {
        const auto worker = cluster.register_worker().value();  // a new one, which has no memory yet
        Transaction t = worker->begin();
        tests::failing_allocation = tests::allocations + ++fails;
        Outcome got = Outcome::kOk;
        EXPECT_NO_THROW(got = reads[i](t));
        failed = tests::allocations >= tests::failing_allocation;
        tests::failing_allocation = 0;
        if (got != Outcome::kOk) {
          ++refused;
          EXPECT_EQ(got, Outcome::kOutOfMemory);
          EXPECT_EQ(t.doom(), AbortReason::kOutOfMemory);
        }
        EXPECT_EQ(t.insert(accounts, kAccounts, {0}), got == Outcome::kOk ? Outcome::kAlreadyExists : Outcome::kAborted)
            << "read " << i << ", failure " << fails;
        (void)t.commit();
        EXPECT_EQ(balance(*worker, accounts, 0), kGiven);
      }
      EXPECT_GT(refused, 1u) << "read " << i;
    }
  });
}

TEST_P(NodesExceptions, OneThatKeepsATransactionFromBeginningLeavesTheWorkerItsReach) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  run_at([](Cluster& cluster, ClusterWorker&, const TypedTable<std::uint64_t, Account>& accounts) {
    const auto worker = cluster.register_worker().value();  // a new one, which has no memory yet
    Transaction t;
    std::uint64_t fails = 0;
    for (bool failed = true; failed;) {
      tests::failing_allocation = tests::allocations + ++fails;
      try {
        t = worker->begin();
      } catch (const std::bad_alloc&) {
      }
      failed = tests::allocations >= tests::failing_allocation;
      tests::failing_allocation = 0;
    }
    EXPECT_GT(fails, 2u) << "a context, and its part at other nodes";
    EXPECT_TRUE(t.get(accounts, kAccounts));
    EXPECT_TRUE(t.commit().committed());
  });
}

}  // namespace
}  // namespace granary
