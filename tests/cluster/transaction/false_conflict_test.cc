// The matrix of conflicts between a transaction in an HTM region and what another node does to the same record, a case
// for each cell (DrTM's slide 67). A conflict is false if nobody's value was at stake: the region has the record's
// state word in its read set, and a remote read writes that word to take its lease. False conflicts cost an attempt,
// never correctness. Pairs of remote operations meet at the locks and leases themselves, which lease_test.cc and
// access_test.cc are about.

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/cluster/transaction/region_world.h"

namespace granary::cluster::test {
namespace {

/// The transaction of node 0 does this to "0x" in its region. It writes "0y" in any case.
enum class Local {
  kRead,
  kChange,      ///< reads and writes it
  kBlindWrite,  ///< writes it without having read it, so that the region comes to it only at its end
};

/// Node 1 does this to "0x" between that and the region's end.
enum class Remote {
  kNothing,     ///< it reads another record
  kRead,        ///< takes a lease, by compare-and-swap on the state word
  kReadLeased,  ///< shares the lease that has been there since before the region
  kLock,        ///< locks, and holds the lock
  kLockInVain,  ///< locks, and unlocks without having written
  kWriteBack,   ///< locks, writes back, and unlocks
};

enum class Cell { kShared, kFalseConflict, kConflict };

struct Case {
  Local local;
  Remote remote;
  Cell cell;
  const char* name;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class FalseConflicts : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  }

  /// Returns why the transaction of node 0 aborted. Notes whether nothing is left of a conflict: the value is as it
  /// was, and a second attempt commits beside the other node's transaction.
  AbortReason try_in_new_world(Local local, Remote remote) {
    worlds_.push_back(std::make_unique<RegionWorld>(Htm::kSim, "", "drtm"));
    world_ = worlds_.back().get();
    std::optional<Transaction> before;
    if (remote == Remote::kReadLeased) before.emplace(lease_from_node_1(1, "0x"));
    Transaction t = begin_local(0, local);
    Transaction other = meet(remote);
    const std::uint64_t regions = world_->regions();
    const AbortReason reason = t.commit().reason;
    EXPECT_EQ(world_->regions(), regions + (reason == AbortReason::kNone ? 1 : 0));
    left_nothing_ = world_->at("0x") == "old" && begin_local(1, local).commit().committed();
    return reason;
  }
  Transaction begin_local(std::size_t worker, Local local) {
    Transaction t = world_->begin(0, worker);
    static_cast<void>(world_->get(t, local == Local::kBlindWrite ? "0y" : "0x"));
    world_->put_from_0(t, "0y");
    if (local != Local::kRead) world_->put_from_0(t, "0x");
    return t;
  }

  Transaction lease_from_node_1(std::size_t worker, std::string_view key) {
    Transaction reader = world_->begin(1, worker);
    world_->declare_at(1, reader, key, false);
    EXPECT_EQ(reader.doom(), AbortReason::kNone);
    return reader;
  }

  /// Returns the other node's transaction, which holds what it has got.
  Transaction meet(Remote remote) {
    if (remote == Remote::kNothing) return lease_from_node_1(0, "1x");
    if (remote == Remote::kRead || remote == Remote::kReadLeased) return lease_from_node_1(0, "0x");
    Transaction writer = world_->begin(1);
    world_->declare_at(1, writer, "0x", true);
    EXPECT_EQ(writer.doom(), AbortReason::kNone);
    if (remote == Remote::kLockInVain) writer.abort();
    if (remote == Remote::kWriteBack) {
      world_->put_at(1, writer, "0x", "theirs");
      EXPECT_EQ(writer.commit().reason, AbortReason::kNone);
    }
    return writer;
  }

  std::vector<std::unique_ptr<RegionWorld>> worlds_;  // all stay, so that each has addresses of its own
  RegionWorld* world_ = nullptr;
  bool left_nothing_ = false;
};

TEST_P(FalseConflicts, CellOfTheMatrix) {
  const auto [local, remote, cell, name] = GetParam();
  // The simulation takes two lines for one where their addresses have the same hash, which differs from world to world.
  // So what is shared must commit in one of some worlds, and what conflicts must not commit in the first.
  constexpr int kMostWorlds = 10;
  AbortReason reason = try_in_new_world(local, remote);
  for (int turn = 1; cell == Cell::kShared && reason != AbortReason::kNone && turn < kMostWorlds; ++turn)
    reason = try_in_new_world(local, remote);
  EXPECT_EQ(reason == AbortReason::kNone, cell == Cell::kShared) << granary::name(reason);
  if (cell != Cell::kShared) {
    EXPECT_EQ(left_nothing_, cell == Cell::kFalseConflict);
  }
}

constexpr Case kMatrix[] = {
    {Local::kRead, Remote::kNothing, Cell::kShared, "ReadAndAnotherRecord"},
    {Local::kRead, Remote::kRead, Cell::kFalseConflict, "ReadAndRemoteRead"},
    {Local::kRead, Remote::kReadLeased, Cell::kShared, "ReadAndRemoteReadUnderALease"},
    {Local::kRead, Remote::kLock, Cell::kConflict, "ReadAndRemoteLock"},
    {Local::kRead, Remote::kLockInVain, Cell::kFalseConflict, "ReadAndRemoteLockInVain"},
    {Local::kRead, Remote::kWriteBack, Cell::kConflict, "ReadAndRemoteWriteBack"},
    {Local::kChange, Remote::kNothing, Cell::kShared, "ChangeAndAnotherRecord"},
    {Local::kChange, Remote::kRead, Cell::kConflict, "ChangeAndRemoteRead"},
    {Local::kChange, Remote::kReadLeased, Cell::kConflict, "ChangeAndRemoteReadUnderALease"},
    {Local::kChange, Remote::kLock, Cell::kConflict, "ChangeAndRemoteLock"},
    {Local::kChange, Remote::kLockInVain, Cell::kFalseConflict, "ChangeAndRemoteLockInVain"},
    {Local::kChange, Remote::kWriteBack, Cell::kConflict, "ChangeAndRemoteWriteBack"},
    {Local::kBlindWrite, Remote::kNothing, Cell::kShared, "BlindWriteAndAnotherRecord"},
    {Local::kBlindWrite, Remote::kRead, Cell::kConflict, "BlindWriteAndRemoteRead"},
    {Local::kBlindWrite, Remote::kReadLeased, Cell::kConflict, "BlindWriteAndRemoteReadUnderALease"},
    {Local::kBlindWrite, Remote::kLock, Cell::kConflict, "BlindWriteAndRemoteLock"},
    {Local::kBlindWrite, Remote::kLockInVain, Cell::kShared, "BlindWriteAndRemoteLockInVain"},
    {Local::kBlindWrite, Remote::kWriteBack, Cell::kShared, "BlindWriteAndRemoteWriteBack"},
};

INSTANTIATE_TEST_SUITE_P(Matrix, FalseConflicts, testing::ValuesIn(kMatrix),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace granary::cluster::test
