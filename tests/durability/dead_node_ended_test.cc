// A dead node whose log was closed, or was never used, owes nothing, unless it could not give everything back before.

#include "tests/durability/dead_node_rig.h"
#include "tests/support/fault_files.h"

namespace granary::tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A node that was taken for dead may yet have closed its log. Its rings stay if it could not give everything back.
TEST_F(DeadNodeTest, OwesWhatItCouldNotGiveBackBeforeItClosed) {
  live([this] {
    leave("decided", "v");
    leave("undecided", std::nullopt);
    advance(3);
    ASSERT_TRUE(database_->close().ok());
  });
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_THAT(texts(**dead), ElementsAre("decided=v", "undecided"));
  EXPECT_TRUE((*dead)->adopt(0).ok()) << "its log is whole";
}

/// Also if the machine was started anew since, so that there are no rings to look at.
TEST_F(DeadNodeTest, OwesNothingIfItClosedInOrder) {
  live([this] {
    put("mine");
    advance(3);
    ASSERT_TRUE(database_->close().ok());
  });
  EXPECT_THAT(debts(), IsEmpty());
  change_boot();
  EXPECT_THAT(debts(), IsEmpty());
}

/// A node that comes back has begun a log before the others let it in, and has no rings yet.
TEST_F(DeadNodeTest, OwesNothingIfItWasNeverLetIn) {
  live([this] { put("mine"); });
  ASSERT_TRUE((*open())->adopt(0).ok());
  returns_ = true;
  live([this] {
    EXPECT_TRUE(recovery::read_manifest(base::system_files(), options_.directory)->generations.back().is_empty());
    std::filesystem::remove_all(options_.reliable_directory);
  });
  EXPECT_THAT(debts(), IsEmpty());
  change_boot();
  EXPECT_THAT(debts(), IsEmpty());
  ASSERT_TRUE((*open())->adopt(0).ok());
  live([this] {
    put("mine");
    ASSERT_TRUE(database_->engine().note_admitted().ok());
    std::filesystem::remove_all(options_.reliable_directory);
  });
  EXPECT_EQ(open().status().code(), StatusCode::kFailedPrecondition) << "it may have had transactions";
}

/// The node's next life needs the room that its options ask for. To end its log needs no more than its rings have.
TEST_F(DeadNodeTest, NeedsNoReserveToBeEnded) {
  live([this] { put("in the ring"); });
  options_.log_reserve_bytes = std::uint64_t{16} << 40;
  const auto dead = open();
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  const Status ended = (*dead)->adopt(0);
  EXPECT_TRUE(ended.ok()) << ended.message();
}

/// While another node stands still, E does, and the log goes on in further segments within the epoch.
TEST_F(DeadNodeTest, MayHaveManySegmentsOfOneEpoch) {
  options_.ring_bytes = options_.log_segment_bytes = std::uint64_t{64} << 10;
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back("key " + std::to_string(i));
  live([&] {
    put("earlier");
    advance(2);
    leave("undecided", std::nullopt);
    const std::string large(options_.log_segment_bytes / 8, 'v');
    for (const std::string& key : keys) put(key, large);
    leave("decided", "v");
  });
  int segments = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
    segments += entry.path().extension() == ".glog" ? 1 : 0;
    EXPECT_LT(entry.file_size(), 3 * options_.log_segment_bytes) << entry.path();
  }
  EXPECT_GT(segments, 3);
  {
    const auto dead = open();
    ASSERT_TRUE(dead.ok()) << dead.status().message();
    EXPECT_THAT(texts(**dead), testing::UnorderedElementsAre("undecided", "decided=v"));
    ASSERT_TRUE((*dead)->adopt(0).ok());
  }
  keys.push_back("earlier");
  expect_whole(keys);
}

/// The node's directory on a disk that can forget.
class DeadNodeOnDisk : public DeadNodeTest {
 protected:
  void SetUp() override {
    DeadNodeTest::SetUp();
    if (IsSkipped()) return;
    live([this] { put("mine"); });
    recovery::Manifest found = manifest();
    found.residence->identity = {};  // such a disk has none
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, found).ok());
    disk_.pass_through(rings_.path());
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory))
      disk_.put(entry.path(), contents(entry.path()));
    disk_.set_observer([this](FileCall call, const std::string& path) {
      if (call != FileCall::kRename || !path.ends_with("/MANIFEST") || has_failed_) return;
      if (repeats_-- > 0) return;
      has_failed_ = true;
      disk_.plan(
          {.call = FileCall::kSyncDirectory, .path = options_.directory, .pages_lost = true, .from_then_on = lasts_});
    });
  }

  FaultFiles disk_;
  bool has_failed_ = false;
  bool lasts_ = false;
  int repeats_ = 0;  ///< how often the manifest is written as it was, before it is changed
};

/// The first recoverer cannot sync what it has written, or dies before. The second one finds it in the kernel's memory.
TEST_F(DeadNodeOnDisk, IsEndedOnlyWhenItsManifestIsOnTheDevice) {
  repeats_ = 1;
  ASSERT_EQ((*DeadNode::open(options_, disk_))->adopt(0).code(), StatusCode::kIoError);
  auto second = DeadNode::open(options_, disk_);
  ASSERT_TRUE(second.ok()) << second.status().message();
  ASSERT_TRUE((*second)->adopt(0).ok());
  const auto after = disk_.power_loss_image(Survives::kSynced);
  EXPECT_TRUE(recovery::read_manifest(*after, options_.directory)->generations.back().end);
}

/// The node has closed its log, as far as the kernel's memory goes, and D goes on without it from then on.
TEST_F(DeadNodeOnDisk, HasClosedOnlyWhenItsManifestIsOnTheDevice) {
  has_failed_ = true;
  ASSERT_TRUE((*DeadNode::open(options_, disk_))->adopt(0).ok());
  begin(disk_);
  put("more");
  advance(3);
  has_failed_ = false;
  ASSERT_EQ(database_->close().code(), StatusCode::kIoError);
  database_.reset();
  auto dead = DeadNode::open(options_, disk_);
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  ASSERT_TRUE((*dead)->adopt(0).ok());
  const auto after = disk_.power_loss_image(Survives::kSynced);
  EXPECT_TRUE(recovery::read_manifest(*after, options_.directory)->generations.back().cut.has_value());
}

TEST_F(DeadNodeOnDisk, IsNotEndedWhileItsManifestCannotBeSynced) {
  lasts_ = true;
  repeats_ = 1;
  ASSERT_EQ((*DeadNode::open(options_, disk_))->adopt(0).code(), StatusCode::kIoError);
  EXPECT_EQ(DeadNode::open(options_, disk_).status().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace granary::tests
