// Real time: what has committed at one node is seen by whoever begins afterwards at another. Two nodes, processes of
// their own, tell each other by pipes, in turn; the node that leads the epochs is stopped for a part of it. The order
// of a whole history is judged by `granary bench append` and by tests/cluster/transaction/history_test.cc.

#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::comes_true;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;

using Pair = std::uint64_t;  // counts them; also what is written
constexpr Pair kPairs = 250'000;
constexpr auto kMostTime = std::chrono::seconds(15);
constexpr Pair kEnough = 1000;  ///< on a machine so slow that there is no time for all
constexpr Pair kOver = ~Pair{0};

struct Progress {
  std::atomic<Pair> pairs{0};
  std::atomic<bool> over{false};
};

/// What one tells the other by.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void tell(Pair pair) const { EXPECT_EQ(::write(ends_[1], &pair, sizeof pair), ssize_t{sizeof pair}); }
  Pair hear() const {
    Pair pair = kOver;
    EXPECT_EQ(::read(ends_[0], &pair, sizeof pair), ssize_t{sizeof pair});
    return pair;
  }

 private:
  int ends_[2] = {-1, -1};
};

/// The keys of a pair: at the writer's node, at the reader's, at the third, or at two of them.
std::vector<std::uint64_t> keys_of(Pair pair) {
  const auto key = [](Pair number) { return first_of(static_cast<NodeNumber>(number % kBankNodes + 1)); };
  if (pair % 4 != 0) return {key(pair)};
  return {key(pair), key(pair + 1)};
}

void write(Branch& branch, Pair pair) {
  const auto body = [&](Transaction& t) {
    for (const std::uint64_t key : keys_of(pair)) (void)t.put(branch.accounts, key, static_cast<std::int64_t>(pair));
  };
  while (!branch.worker->run(body).committed()) {
  }
}

/// Some of them under leases, which those who write next have to wait for.
bool sees(Branch& branch, Pair pair) {
  bool all = false;
  const auto body = [&](Transaction& t) {
    all = true;
    for (const std::uint64_t key : keys_of(pair)) {
      const EncodedKey<std::uint64_t> encoded(key);
      const Declared declared{branch.accounts, encoded, false};
      if (pair % 64 == 0 && t.declare({&declared, 1}) != Outcome::kOk) return;
      const auto value = t.get(branch.accounts, key);
      all = all && value && *value == static_cast<std::int64_t>(pair);
    }
  };
  while (!branch.worker->run(body).committed()) {
  }
  return all;
}

/// From the other's pair to the next, which is its own. Odd pairs are of the one, which begins and ends it all.
void take_turns(Branch& branch, Progress& progress, const Pipe& from, const Pipe& to,
                const CrashChild::Report& report) {
  const bool begins = branch.cluster->node() == 2;
  const auto end = std::chrono::steady_clock::now() + kMostTime * tests::scaled(1);
  for (Pair pair = begins ? 0 : from.hear(); pair != kOver; pair = from.hear()) {
    if (pair != 0 && !sees(branch, pair)) report("overlooked pair " + std::to_string(pair));
    progress.pairs = pair;
    if (begins && (pair >= tests::scaled(kPairs) || std::chrono::steady_clock::now() >= end)) break;
    write(branch, pair + 1);
    to.tell(pair + 1);
  }
  if (begins) to.tell(kOver);
  progress.over = true;
}

TEST(ClusterRealTime, WhatWasToldOfIsSeen) {
  const ClusterFile file(kBankNodes);
  Progress& progress = tests::map_shared<Progress>();
  const Pipe to_one, to_other;
  const auto turns = [&](NodeNumber node, const Pipe& from, const Pipe& to) {
    return [&, node](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(file, node));
      report("runs");
      take_turns(branch, progress, from, to, report);
      report("ends");
      (void)branch.cluster->barrier();
    };
  };
  CrashChild leader([&](const CrashChild::Report& report) {
    Branch branch(tests::bank_options(file, 1));
    report("runs");
    while (!progress.over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)branch.cluster->barrier();
  });
  CrashChild one(turns(2, to_one, to_other));
  CrashChild other(turns(3, to_other, to_one));
  for (CrashChild* const child : {&leader, &one, &other}) ASSERT_TRUE(child->run_until("runs"));

  const auto come = [&](Pair pairs) {
    return comes_true([&, pairs] { return progress.over || progress.pairs >= pairs; });
  };
  ASSERT_TRUE(come(kEnough / 4));
  leader.signal(SIGSTOP);
  ASSERT_TRUE(leader.wait_until_stopped());
  const Pair before = progress.pairs;
  EXPECT_TRUE(come(before + kPairs / 10)) << "no epoch begins meanwhile, but nobody needs one";
  const Pair stopped = progress.pairs - before;
  leader.signal(SIGCONT);
  ASSERT_TRUE(comes_true([&] { return progress.over.load(); }, kMostTime * tests::scaled(2)));
  for (CrashChild* const child : {&one, &other}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    EXPECT_EQ(child->lines(), (std::vector<std::string>{"runs", "ends"}));
  }
  EXPECT_EQ(leader.wait().exit_code, 0);
  EXPECT_GE(progress.pairs, kEnough);
  std::cout << progress.pairs << " pairs, " << stopped << " of them while no epoch could begin\n";
}

}  // namespace
}  // namespace granary
