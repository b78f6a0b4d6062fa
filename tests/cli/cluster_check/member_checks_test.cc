// What `granary cluster check` says of nodes that run already, with a board of one host.

#include "src/cli/cluster_check/member_checks.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "cluster_config/membership/local/local_board.h"
#include "cluster_config/membership/membership.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster_check {
namespace {

using membership::Membership;
using testing::HasSubstr;

class MemberChecks : public testing::Test {
 protected:
  MemberChecks() {
    config_.name = "bank";
    config_.run_directory = directory_ / "run";
    config_.membership.kind = cluster_config::MembershipKind::kLocal;
  }
  std::unique_ptr<Membership> join(membership::NodeId node, std::uint64_t protocol, const std::string& release) {
    std::filesystem::create_directory(config_.run_directory);
    std::filesystem::permissions(config_.run_directory, std::filesystem::perms::owner_all);
    membership::MembershipOptions options{
        .node = node, .cluster = "bank", .address = "here", .protocol = protocol, .release = release};
    return Membership::join(membership::open_local_board(config_.run_directory, 60'000'000).value(), options, {})
        .value();
  }

  tests::TemporaryDirectory directory_;
  cluster_config::ClusterConfig config_;
};

TEST_F(MemberChecks, NobodyRunsAndNothingIsMade) {
  EXPECT_TRUE(check_members(config_, 7).empty());
  EXPECT_FALSE(std::filesystem::exists(config_.run_directory));
}

TEST_F(MemberChecks, WhoRunsIsComparedAndWhoHasEndedIsNot) {
  const auto one = join(1, 7, "0.1.0");
  ASSERT_TRUE(join(2, 7, "0.1.0")->leave().ok());
  { const auto died = join(3, 7, "0.1.0"); }
  const Findings alike = check_members(config_, 7);
  ASSERT_EQ(alike.size(), 1U);
  EXPECT_EQ(alike[0].subject, "member 1");
  EXPECT_EQ(alike[0].verdict, Verdict::kGood);
  EXPECT_THAT(alike[0].found, HasSubstr("0.1.0"));

  const Findings other = check_members(config_, 8);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_TRUE(any_bad(other));
  EXPECT_THAT(other[0].found, HasSubstr("0.1.0, which cannot work together with this one"));
  EXPECT_THAT(other[0].mend, HasSubstr("same Granary"));
}

TEST_F(MemberChecks, APlaceOfAnotherClusterIsNamed) {
  const auto one = join(1, 7, "0.1.0");
  config_.name = "shop";
  const Findings findings = check_members(config_, 7);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(any_bad(findings));
  EXPECT_THAT(findings[0].found, HasSubstr("is used by cluster 'bank', not 'shop'"));
}

/// Servers that do not answer may do so later; a password that cannot be read is missing for every node.
TEST_F(MemberChecks, APasswordThatCannotBeReadKeepsNodesFromStarting) {
  config_.membership.kind = cluster_config::MembershipKind::kZookeeper;
  config_.membership.servers = {"127.0.0.1:1"};
  config_.membership.user = "u";
  config_.membership.password_file = directory_ / "none";
  const Findings findings = check_members(config_, 7);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(any_bad(findings));
  EXPECT_THAT(findings[0].found, HasSubstr("none"));
}

/// What keeps results from being released is named, with what to do about it.
TEST_F(MemberChecks, WhoIsDeadAndYetToBeRecoveredIsNamed) {
  for (const membership::NodeId id : {1, 2}) {
    config_.nodes.push_back({.id = id, .host = id == 1 ? "a" : "b"});
    config_.nodes.back().data_directory = directory_ / "data";
  }
  const auto one = join(1, 7, "0.1.0");
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(join(2, 7, "0.1.0")->die().ok());
  const Findings apart = check_members(config_, 7);
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(apart[1].subject, "dead node 2");
  EXPECT_EQ(apart[1].verdict, Verdict::kWarning);
  EXPECT_THAT(apart[1].found, HasSubstr("life 1 of node 2 ended without giving back what it held"));
  EXPECT_THAT(apart[1].found, HasSubstr(": no results are released"));
  EXPECT_THAT(apart[1].mend, HasSubstr("start node 2, which recovers it itself"));

  config_.nodes.back().host = "a";
  EXPECT_THAT(check_members(config_, 7).at(1).mend, HasSubstr("node 1 sees its directory"));
  one->step(0);
  ASSERT_TRUE(one->be_quiet({.number = one->configuration()->number, .epoch = 1}).ok());
  ASSERT_TRUE(one->claim(2, 1).ok());
  EXPECT_THAT(check_members(config_, 7).at(1).mend, HasSubstr("node 1 is at it"));
  ASSERT_TRUE(one->give_up_claim(2, 1).ok());
  ASSERT_TRUE(one->leave().ok());
  EXPECT_THAT(check_members(config_, 7).at(0).mend, HasSubstr("start all nodes"));
}

TEST_F(MemberChecks, ResultsWaitForLogsOnly) {
  config_.nodes = {{.id = 1}, {.id = 2}};
  const auto one = join(1, 7, "0.1.0");
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(join(2, 7, "0.1.0")->die().ok());
  EXPECT_THAT(check_members(config_, 7).at(1).found, testing::Not(HasSubstr("released")));
  for (cluster_config::NodeConfig& node : config_.nodes) node.data_directory = directory_ / "data";
  EXPECT_THAT(check_members(config_, 7).at(1).found, HasSubstr("no results are released"));
  config_.release = Release::kCommit;
  EXPECT_THAT(check_members(config_, 7).at(1).found, testing::Not(HasSubstr("released")));
}

TEST_F(MemberChecks, WhoIsRecoveredAndNotBackIsNamed) {
  config_.nodes = {{.id = 1}, {.id = 2}};
  const auto one = join(1, 7, "0.1.0");
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(join(2, 7, "0.1.0")->die().ok());
  one->step(0);
  ASSERT_TRUE(one->be_quiet({.number = one->configuration()->number, .epoch = 1}).ok());
  ASSERT_TRUE(one->claim(2, 1).ok());
  EXPECT_THAT(check_members(config_, 7).at(1).mend, HasSubstr("node 1 is at it"));
  ASSERT_TRUE(one->note_recovered(2, 1).ok());
  const Findings findings = check_members(config_, 7);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].subject, "dead node 2");
  EXPECT_EQ(findings[1].verdict, Verdict::kWarning);
  EXPECT_THAT(findings[1].found, HasSubstr("has been recovered; its records cannot be reached"));
  EXPECT_EQ(findings[1].mend, "start node 2");
}

}  // namespace
}  // namespace granary::cluster_check
