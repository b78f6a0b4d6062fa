// Processes killed by SIGKILL, at random moments and at every named place of commit, logging, checkpoint and opening,
// on a real directory with real threads: the money is all there, every transfer whole, and none missing that was
// reported; without the rings ("reboot"), none missing that was released.
//
// Not covered: the kernel's death; what was not synced survives here (power_loss_test has that).

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "tests/durability/bank_child.h"
#include "tests/support/htm_setting.h"
#include "tests/support/ring_directory.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Kill : public testing::Test {
 protected:
  /// A new bank now and then: history grows, and an audit reads it all.
  void maybe_begin_anew(std::uint64_t round) {
    constexpr std::uint64_t kLife = 6;  // rounds
    if (round == 0 || round % kLife != 0) return;
    ASSERT_NO_FATAL_FAILURE(verify());
    directory_ = std::make_unique<TemporaryDirectory>();
    rings_.empty();
    reported_ += committed_[0] + committed_[1];
    committed_ = released_ = {};
  }

  /// Runs a child until it kills itself or the time is over.
  void run_child(const std::string& point, std::uint64_t pass, std::uint64_t seed, milliseconds time) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();  // this process has no other threads now
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      run_bank({directory_->path() + "/db", rings_.path(), point, pass, seed, ends[1]});
    }
    ::close(ends[1]);
    listen(ends[0], child, steady_clock::now() + time);
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself, status " << status;
  }

  /// The machine stops: memory is gone.
  void lose_rings() {
    rings_.empty();
    committed_ = released_;
  }

  /// What the killed processes left.
  void verify() {
    auto database = Database::open(bank_options(directory_->path() + "/db", rings_.path()));
    ASSERT_TRUE(database.ok()) << database.status().message();
    const auto bank = open_bank(**database);
    ASSERT_TRUE(bank.ok()) << bank.status().message();
    Worker worker = (*database)->register_worker().value();
    Transaction t = worker.begin();
    see_counters(t, *bank);
    see_index(t, *bank);
    see_balances(t, *bank);
    ASSERT_TRUE(t.commit().committed());
  }

  std::uint64_t killed_by_us() const { return killed_by_us_; }
  /// By all banks.
  std::uint64_t reported() const { return reported_ + committed_[0] + committed_[1]; }

 private:
  void listen(int pipe, pid_t child, steady_clock::time_point end) {
    bool killed = false;
    for (;;) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now()).count();
      if (left <= 0 && !killed) {
        ::kill(child, SIGKILL);
        killed = true;
        ++killed_by_us_;
      }
      pollfd ready{pipe, POLLIN, 0};
      if (::poll(&ready, 1, killed ? -1 : static_cast<int>(left)) <= 0) continue;
      BankReport line;
      if (::read(pipe, &line, sizeof line) != static_cast<ssize_t>(sizeof line)) return;
      auto& last = line.released != 0 ? released_[line.worker] : committed_[line.worker];
      last = std::max(last, line.counter);
      committed_[line.worker] = std::max(committed_[line.worker], line.counter);
    }
  }

  void see_counters(Transaction& t, const Bank& bank) {
    for (std::uint64_t me = 0; me < kBankWorkers; ++me) {
      const std::uint64_t counter = t.get(bank.counters, me).value_or(0);
      EXPECT_GE(counter, committed_[me]) << "transfers of teller " << me << " are gone";
      std::uint64_t expected = 0;
      ASSERT_TRUE(t.scan(bank.transfers, transfer_key(me, 0), transfer_key(me + 1, 0),
                         [&](std::uint64_t key, const Transfer& transfer) {
                           EXPECT_EQ(key, transfer_key(me, ++expected)) << "a transfer is missing";
                           moved_[transfer.from] -= transfer.amount;
                           moved_[transfer.to] += transfer.amount;
                           return true;
                         }));
      EXPECT_EQ(counter, expected) << "teller " << me << "'s counter and its transfers differ: half a transaction";
      committed_[me] = released_[me] = counter;  // this opening has made it durable
    }
  }

  /// By the index, each transfer once, in the order of accounts.
  void see_index(Transaction& t, const Bank& bank) {
    std::set<std::string, std::less<>> found;
    std::uint64_t last = 0;
    ASSERT_TRUE(t.scan(bank.by_account, {}, [&](std::string_view key, std::string_view value) {
      Transfer transfer;
      EXPECT_EQ(value.size(), sizeof transfer);
      std::memcpy(&transfer, value.data(), sizeof transfer);
      EXPECT_LE(last, transfer.from) << "the index is out of order";
      last = transfer.from;
      EXPECT_TRUE(found.emplace(key).second) << "the index has a transfer twice";
      return !HasFailure();
    }));
    EXPECT_EQ(found.size(), committed_[0] + committed_[1]) << "index and table differ";
  }

  void see_balances(Transaction& t, const Bank& bank) {
    std::uint64_t accounts = 0;
    std::int64_t sum = 0;
    for (std::uint64_t account = 0; account < kBankAccounts; ++account) {
      const auto balance = t.get(bank.accounts, account);
      if (!balance) continue;
      ++accounts;
      sum += *balance;
      EXPECT_EQ(*balance, kBankBalance + moved_[account]) << "account " << account;
    }
    EXPECT_TRUE(accounts == kBankAccounts || (accounts == 0 && committed_ == std::array<std::uint64_t, kBankWorkers>{}))
        << accounts << " accounts";
    EXPECT_EQ(sum, static_cast<std::int64_t>(accounts) * kBankBalance);
    moved_.clear();
  }

  std::unique_ptr<TemporaryDirectory> directory_ = std::make_unique<TemporaryDirectory>();
  RingDirectory rings_;
  std::array<std::uint64_t, kBankWorkers> committed_{}, released_{};
  std::map<std::uint64_t, std::int64_t> moved_;
  std::uint64_t killed_by_us_ = 0;
  std::uint64_t reported_ = 0;  // by the banks before this one
};

TEST_F(Kill, AtRandomMoments) {
  base::Random random(1);
  for (std::uint64_t round = 0; round < scaled(24); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(maybe_begin_anew(round));
    ASSERT_NO_FATAL_FAILURE(run_child("", 1, round, milliseconds(5 + random.below(200))));
    if (random.below(3) == 0) lose_rings();
    if (random.below(3) != 0) {  // else the next child recovers
      ASSERT_NO_FATAL_FAILURE(verify());
    }
    ASSERT_FALSE(HasFailure());
  }
  ASSERT_NO_FATAL_FAILURE(verify());
  EXPECT_GT(reported(), 0u);
}

/// How often a child passes there soon.
std::uint64_t passes(std::string_view point) {
  if (point.starts_with("storage.")) return 1;
  if (point == "region.storing") return 300;
  return point.starts_with("ring.") ? 2 : 12;
}

class KillAt : public Kill, public testing::WithParamInterface<const char*> {};

TEST_P(KillAt, TheNamedPlace) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  const bool in_region = std::string_view(GetParam()).starts_with("region.");
  if (in_region && asked_htm != Htm::kSim) GTEST_SKIP() << "only commits in regions come there";
  base::Random random(7);
  ASSERT_NO_FATAL_FAILURE(run_child("", 1, 99, milliseconds(60)));
  const std::uint64_t rounds = scaled(4);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(maybe_begin_anew(round));
    const bool first_pass = round % 2 == 0;
    if (first_pass && std::string_view(GetParam()).starts_with("ring.")) lose_rings();  // else none is made
    const std::uint64_t pass = first_pass ? 1 : 1 + random.below(passes(GetParam()));
    ASSERT_NO_FATAL_FAILURE(run_child(GetParam(), pass, round, milliseconds(first_pass ? 60'000 : 1000)));
    if (random.below(3) == 0) lose_rings();
    if (random.below(3) != 0) {  // else the next child recovers
      ASSERT_NO_FATAL_FAILURE(verify());
    }
    ASSERT_FALSE(HasFailure());
  }
  ASSERT_NO_FATAL_FAILURE(verify());
  EXPECT_LT(killed_by_us() - 1, rounds) << "no child ever came to this place";
}

std::string test_name(const testing::TestParamInfo<const char*>& instance) {
  std::string text = instance.param;
  for (char& c : text) c = c == '.' ? '_' : c;
  return text;
}

INSTANTIATE_TEST_SUITE_P(Points, KillAt,
                         testing::Values("commit.locked", "commit.validated", "commit.logged", "install.copied",
                                         "commit.installed", "logger.appended", "logger.gave_room", "logger.synced",
                                         "logger.published", "logger.rotates", "ring.made_aside", "ring.linked",
                                         "storage.log_opened", "storage.manifest_written", "storage.log_started",
                                         "checkpoint.piece", "checkpoint.written", "checkpoint.installed"),
                         test_name);

/// Only with --htm=sim. At "region.storing" one store more of a region has reached memory, as others see it one by one.
INSTANTIATE_TEST_SUITE_P(InRegions, KillAt,
                         testing::Values("region.planned", "region.checked", "region.stored", "region.storing",
                                         "region.committed"),
                         test_name);

}  // namespace
}  // namespace granary::tests
