// The directory of a node that died, for its recovery while others go on: what it owes, whatever was already in its
// log, and how the generation is ended, also by a recovery that is cut short. What is done at the other nodes is for
// tests/cluster/recovery; nodes that owe nothing are in dead_node_ended_test.cc.

#include "tests/durability/dead_node_rig.h"

namespace granary::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeadNodeTurn : public DeadNodeTest {
 protected:
  void live_while_e_moves(bool swapped, unsigned epochs, const std::function<void(Worker)>& write);
};

TEST_F(DeadNodeTest, OwesWhatItsTransactionsLeftUnderWay) {
  live([this] {
    put("mine");
    leave("decided", "v");
    leave("undecided", std::nullopt);
  });
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_THAT(texts(**dead), ElementsAre("decided=v", "undecided"));
  EXPECT_EQ((*dead)->life(), kLife);
  EXPECT_EQ((*dead)->debts().front().word,
            record::x_lock_word({.node = 1, .generation = kLife, .worker = 0, .sequence = 1}));
}

/// The logger has taken the entry, has synced it, and the ring has given its bytes back.
TEST_F(DeadNodeTest, OwesWhatItsLogHasAlready) {
  for (const LogCompression compression : {LogCompression::kNone, LogCompression::kLz4}) {
    options_.directory = directory_ / std::to_string(static_cast<int>(compression));
    options_.log_compression = compression;
    live([this] {
      leave("early", "1");
      advance(4);
      leave("late", "2");
    });
    std::uint64_t drained = 0;
    const auto rings = recovery::find_rings(manifest());
    for (const auto& ring : rings->rings) drained += ring->header().head.load();
    ASSERT_GT(drained, 0u);
    EXPECT_THAT(debts(), ElementsAre("early=1", "late=2"));
  }
}

/// The first locks are to go soon, however long the log is. What has been waiting for longer is found all the same.
TEST_F(DeadNodeTest, LooksAtThePartOfItsLogThatItsRingsGoOnFrom) {
  options_.log_segment_bytes = std::uint64_t{64} << 10;
  const auto damage_first_segment = [this] {
    const std::string path = options_.directory + "/" + log::segment_name(1, 0, 0);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(options_.log_segment_bytes / 2));
    file << "what nobody has written";
    EXPECT_TRUE(file.good()) << path;
  };
  live([&] {
    fill_segments(3);
    leave("key", "v");
    advance(4);
  });
  damage_first_segment();
  {
    const auto dead = open();
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_THAT(texts(**dead), ElementsAre("key=v"));
    ASSERT_TRUE((*dead)->adopt(0).ok());
  }
  EXPECT_TRUE(manifest().generations.front().segments.front().end) << "the part that was left out still counts";

  options_.directory = directory_ / "longer";
  live([&] {
    leave("key", "v");
    fill_segments(3);
  });
  EXPECT_THAT(debts(), ElementsAre("key=v"));
  damage_first_segment();
  expect_refused(StatusCode::kDamaged, log::segment_name(1, 0, 0));
}

/// The locks' home may have died meanwhile, and its records may be in the checkpoint of its next life. The worker still
/// names the locks until it runs its next transaction.
TEST_F(DeadNodeTest, OwesWhatACheckpointOfAllNodesCovers) {
  options_.log_segment_bytes = std::uint64_t{64} << 10;
  live([&] {
    leave("key", "v");
    fill_segments(3);
    const epoch::Epoch now = control_->by_leader.epoch.load();
    control_->by_leader.durable.store(now - 1);
    control_->by_leader.checkpoint.store(now - 1);
    const Status taken = database_->checkpoint();
    EXPECT_TRUE(taken.ok()) << taken.message();
    EXPECT_GT(control_->by_node.checkpoint.load(), 1u);
    EXPECT_TRUE(std::filesystem::exists(options_.directory + "/" + log::segment_name(1, 0, 0)));
  });
  EXPECT_THAT(debts(), ElementsAre("key=v"));
}

/// The logger asks which epoch is complete, and then writes what one ring after the other has. Meanwhile E moves on by
/// `epochs`, and `write` leaves something in a ring that is still to come, if `swapped` says the order of the workers'
/// rings. That comes into the segment which ends with this turn; the next turn moves the other ring's position to the
/// segment behind it.
void DeadNodeTurn::live_while_e_moves(bool swapped, unsigned epochs, const std::function<void(Worker)>& write) {
  options_.directory = directory_ / std::to_string(static_cast<int>(swapped));
  options_.log_segment_bytes = std::uint64_t{64} << 10;
  live([&] {
    Worker first = database_->register_worker().value(), last = database_->register_worker().value();
    if (swapped) std::swap(first, last);
    put_by(first, "large", std::string(options_.log_segment_bytes, 'v'));
    control_->by_leader.epoch.fetch_add(1);
    bool done = false;
    base::set_sync_hook([&](std::string_view passed) {
      if (passed != "logger.appended" || done) return;
      done = true;
      put_by(first, "of the epoch that the next turn completes");
      control_->by_leader.epoch.fetch_add(epochs);
      write(std::move(last));
    });
    database_->step();
    EXPECT_TRUE(done);
    database_->step();
  });
}

TEST_F(DeadNodeTurn, HasAllThatWasCommittedWhileItsLogWasWritten) {
  for (const bool swapped : {false, true}) {
    live_while_e_moves(swapped, 1, [this](Worker last) { put_by(last, "late"); });
    ASSERT_TRUE((*open())->adopt(0).ok());
    expect_whole({"large", "of the epoch that the next turn completes", "late"});
    database_.reset();
  }
}

TEST_F(DeadNodeTurn, OwesWhatWasDecidedWhileItsLogWasWritten) {
  for (const bool swapped : {false, true}) {
    live_while_e_moves(swapped, 3, [this](Worker last) {
      { const Worker given_back = std::move(last); }
      leave("late", "v");
    });
    EXPECT_THAT(debts(), ElementsAre("late=v"));
  }
}

TEST_F(DeadNodeTest, IsNotOneWhoseProcessIsThere) {
  begin();
  EXPECT_EQ(open().status().code(), StatusCode::kUnavailable);
  database_.reset();
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_EQ(open().status().code(), StatusCode::kUnavailable) << "another recoverer has it";
}

TEST_F(DeadNodeTest, WithoutDataIsRefused) {
  options_.directory = directory_ / "elsewhere";
  expect_refused(StatusCode::kNotFound, "elsewhere");
}

/// What it held is not known then. Salvage, which gives up what is lost, does not help.
TEST_F(DeadNodeTest, WithoutItsRingsIsRefused) {
  live([this] {
    put("mine");
    leave("key", "v");
  });
  const RingDirectory::Contents rings = rings_.contents();
  ASSERT_EQ(ring_files().size(), 2u) << "one for each worker there was";
  const std::string advice = "End all nodes of the cluster, then start all of them";
  for (const bool salvage : {false, true}) {
    options_.salvage = salvage;
    rings_.empty();
    expect_refused(StatusCode::kFailedPrecondition, advice);
    expect_refused(StatusCode::kFailedPrecondition, "no log rings are in '");
    RingDirectory::Contents fewer = rings;
    std::erase_if(fewer, [](const auto& file) { return file.first.ends_with("ring-0000"); });
    rings_.replace(fewer);
    expect_refused(StatusCode::kFailedPrecondition, "1 of 2 log rings are missing");
    rings_.replace(rings);
    recovery::Manifest of_another_boot = manifest();
    const recovery::Manifest of_this_boot = of_another_boot;
    of_another_boot.boot = "another";
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, of_another_boot).ok());
    expect_refused(StatusCode::kFailedPrecondition, "the machine was started anew");
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, of_this_boot).ok());
  }
  EXPECT_THAT(debts(), ElementsAre("key=v"));
}

TEST_F(DeadNodeTest, WithADamagedNameIsRefused) {
  live([this] { leave("key", "v"); });
  RingDirectory::Contents rings = rings_.contents();
  unsigned changed = 0;
  for (auto& [name, bytes] : rings) {
    if (name.find("/ring-") == std::string::npos) continue;
    const std::size_t key = bytes.find("key", bytes.size() - log::lock_area_bytes(options_.ring_bytes));
    if (key == std::string::npos) continue;
    bytes[key] = 'l';
    ++changed;
  }
  ASSERT_EQ(changed, 1u);
  rings_.replace(rings);
  expect_refused(StatusCode::kDamaged, "' is damaged: slot 0 of the lock-ahead record");
}

TEST_F(DeadNodeTest, AdoptsItsRingsAndOwesNothingAfterwards) {
  live([this] {
    put("synced");
    advance(4);
    put("in the ring");
    leave("key", "v");
  });
  constexpr epoch::Epoch kNow = 1000;
  {
    const auto dead = open();
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_GT((*dead)->ring_bytes(), 0u);
    ASSERT_TRUE((*dead)->adopt(kNow).ok());
    EXPECT_THAT((*dead)->debts(), IsEmpty());
    EXPECT_TRUE((*dead)->adopt(kNow + 1).ok()) << "once more does nothing";
  }
  EXPECT_THAT(ring_files(), IsEmpty());
  const auto generations = manifest().generations;
  ASSERT_EQ(generations.size(), 2u);
  EXPECT_GT(generations.front().cut, generations.front().durable) << "all of it counts";
  EXPECT_LT(generations.front().cut, kNow);
  EXPECT_TRUE(generations.back().end);
  EXPECT_EQ(generations.back().first_epoch, kNow);
  const auto ended = open();
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  EXPECT_THAT((*ended)->debts(), IsEmpty());
  EXPECT_EQ((*ended)->ring_bytes(), 0u);
  EXPECT_EQ((*ended)->life(), kLife);
  const auto before = image();
  EXPECT_TRUE((*ended)->adopt(kNow + 1).ok());
  EXPECT_EQ(image(), before);
}

TEST_F(DeadNodeTest, ItsNextLifeHasAllThatItCommitted) {
  live([this] {
    put("synced");
    advance(4);
    put("in the ring");
  });
  ASSERT_TRUE((*open())->adopt(0).ok());
  expect_whole({"synced", "in the ring"});
}

/// Wherever a recovery dies, the next one finds the same debts, or none after the end of the generation was written.
TEST_F(DeadNodeTest, AdoptionMayBeCutShortAnywhere) {
  live([this] {
    put("mine");
    leave("key", "v");
  });
  adopt_and_die_at("storage.log_opened");
  EXPECT_THAT(debts(), ElementsAre("key=v"));
  EXPECT_THAT(ring_files(), testing::SizeIs(2));
  adopt_and_die_at("storage.manifest_written");
  EXPECT_THAT(debts(), IsEmpty());
  ASSERT_TRUE((*open())->adopt(0).ok());
  expect_whole({"mine"});
}

}  // namespace
}  // namespace granary::tests
