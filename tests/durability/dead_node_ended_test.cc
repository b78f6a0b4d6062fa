// A dead node whose log was closed, or was never used, owes nothing, unless it could not give everything back before.

#include "tests/durability/dead_node_rig.h"

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

}  // namespace
}  // namespace granary::tests
