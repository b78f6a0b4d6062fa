// READs of a participant's E: behind the locks they stand behind (I7), and again until it is late enough.

#include "src/cluster/cluster_epoch/epoch_read.h"

#include <gtest/gtest.h>

#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/x_lock.h"
#include "tests/cluster/record_access/sim_nodes.h"

namespace granary::cluster {
namespace {

/// One record of the owner, whose region also has its control block.
class EpochReads : public testing::Test {
 protected:
  static constexpr std::uint64_t kControl = 4096;

  epoch::ControlBlock& control() { return *reinterpret_cast<epoch::ControlBlock*>(nodes_.region->base() + kControl); }
  rdma::RemoteAddress control_address(rdma::Generation life = 1) const {
    return {.node = kOwner, .region = 1, .generation = life, .offset = kControl};
  }
  void set_epoch(epoch::Epoch epoch) { control().by_leader.epoch.store(epoch); }
  void* word() { return nodes_.remote().buffer(EpochRead::kBufferBytes); }

  SimNodes nodes_{{.seed = 7}, 1};
};

TEST_F(EpochReads, ReadsWhatIsThere) {
  set_epoch(17);
  EpochRead read(control_address(), word());
  nodes_.run({&read});
  EXPECT_EQ(read.epoch(), 17u);
  EXPECT_TRUE(read.reached());
}

TEST_F(EpochReads, WaitsForAnEpochABoundedWhile) {
  set_epoch(4);
  EpochRead in_time(control_address(), word(), {.at_least = 6, .looks = 10});
  nodes_.run({&in_time}, [&] { set_epoch(control().by_leader.epoch.load() + 1); });
  EXPECT_EQ(in_time.epoch(), 6u);
  EXPECT_TRUE(in_time.reached());

  unsigned pauses = 0;
  EpochRead in_vain(control_address(), word(), {.at_least = 7, .looks = 10});
  nodes_.run({&in_vain}, [&] { ++pauses; });
  EXPECT_FALSE(in_vain.reached());
  EXPECT_EQ(pauses, 9u);
}

TEST_F(EpochReads, IsOfTheRoundInWhichTheLastLockWasTaken) {
  OwnedRecord record(nodes_.region->base(), 0, "key");
  record.make(1, record::make_tid(3, 1) | record::kLatest, "value");
  record::TidWord before = 0;
  ASSERT_TRUE(record.lock(&before));  // the owner's worker; lets go in a pause
  set_epoch(5);
  HolderWords words(2, 1, 0);
  const LeaseExpired no_lease;
  const RemoteRecord remote = record.remote(kOwner);
  XLock lock(remote, words.next(), nodes_.remote().buffer(XLock::buffer_bytes(3)), no_lease);
  EpochRead read(control_address(), word(), {.others = [&] { return lock.outcome() == AccessOutcome::kOpen; }});
  nodes_.run({&lock, &read}, [&] {
    set_epoch(6);
    record.unlock();
  });
  EXPECT_EQ(lock.outcome(), AccessOutcome::kDone);
  EXPECT_EQ(read.epoch(), 6u) << "E after the lock was taken";
}

TEST_F(EpochReads, SaysSoIfTheNodeIsOfAnotherLife) {
  set_epoch(9);
  EpochRead read(control_address(2), word());
  nodes_.run({&read});
  EXPECT_EQ(read.epoch(), 0u);
  EXPECT_FALSE(read.reached());
}

}  // namespace
}  // namespace granary::cluster
