// The disks and ports of nodes, on what this machine has.

#include "src/cli/doctor/node_checks.h"

#include <filesystem>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/cluster_check/port.h"
#include "tests/support/temporary_directory.h"

namespace granary::doctor {
namespace {

using cluster_check::Findings;
using cluster_check::Verdict;
using cluster_config::NodeConfig;
using testing::HasSubstr;

TEST(NodeDisks, AreWrittenToAndLeftAsTheyWere) {
  const tests::TemporaryDirectory directory;
  const std::vector<NodeConfig> here{{.id = 1, .data_directory = directory / "not/yet"}};
  const Findings findings = check_disks(here);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_FALSE(any_bad(findings)) << text_of(findings);
  EXPECT_EQ(findings[0].subject, "disk of 1");
  EXPECT_EQ(findings[1].subject, "direct I/O of 1");
  EXPECT_THAT(findings[2].found, HasSubstr("writes of 4 KiB with fdatasync: p50 "));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(NodeDisks, AllDirectoriesOfANodeAreLookedAt) {
  const tests::TemporaryDirectory directory;
  const std::vector<NodeConfig> here{
      {.id = 1, .data_directory = directory.path(), .log_directories = {directory.path(), "/proc"}}, {.id = 2}};
  const Findings findings = check_disks(here);
  ASSERT_EQ(findings.size(), 8u) << "node 2 has none";
  EXPECT_EQ(findings[7].verdict, Verdict::kBad);
  EXPECT_THAT(findings[7].found, HasSubstr("no file can be made in '/proc'"));
}

TEST(NodeDisks, AreJudgedByTheirFileSystem) {
  const auto verdict = [](const char* type, std::uint64_t free_gib) {
    return judge_file_system("disk", "/data", {.type = type, .free_bytes = free_gib << 30}).verdict;
  };
  EXPECT_EQ(verdict("ext4", 8), Verdict::kGood);
  EXPECT_EQ(verdict("xfs", 8), Verdict::kGood);
  EXPECT_EQ(verdict("btrfs", 8), Verdict::kNote);
  EXPECT_EQ(verdict("ext4", 0), Verdict::kWarning);
  for (const char* type : {"tmpfs", "overlay", "nfs"}) EXPECT_EQ(verdict(type, 8), Verdict::kWarning) << type;
  EXPECT_EQ(verdict("", 8), Verdict::kBad);
}

TEST(NodePorts, AreFreeOrTakenOrOfNoDevice) {
  const tests::Port taken("anything");
  std::vector<NodeConfig> here{{.id = 1, .http = taken.place()}, {.id = 2}};
  EXPECT_EQ(check_ports(here).size(), 1u) << "node 2 listens nowhere";
  EXPECT_EQ(check_ports(here).front().verdict, Verdict::kWarning);
  EXPECT_THAT(check_ports(here).front().mend, HasSubstr("ss -ltnp"));
  { here.front().http = tests::Port("anything").place(); }
  EXPECT_EQ(check_ports(here).front().verdict, Verdict::kGood);
  here.front().http = "192.0.2.1:9461";
  EXPECT_EQ(check_ports(here).front().verdict, Verdict::kBad);
}

}  // namespace
}  // namespace granary::doctor
