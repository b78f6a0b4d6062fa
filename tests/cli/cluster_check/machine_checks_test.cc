// What `granary cluster check` makes of machines, of directories and keys. Machines are values here; only what the
// test's own machine is like is asked once.

#include "src/cli/cluster_check/machine_checks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>

#include "cluster_config/key_file.h"
#include "recovery/manifest.h"
#include "src/base/file.h"
#include "src/cli/cluster_check/directory_checks.h"
#include "src/cli/cluster_check/logout.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;
using cluster_config::Provider;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const Finding& about(const Findings& findings, const std::string& subject) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.subject == subject; });
  EXPECT_NE(found, findings.end()) << "nothing about " << subject;
  return found == findings.end() ? findings.front() : *found;
}

class MachineChecks : public testing::Test {
 protected:
  MachineChecks() {
    machine_.host_name = "a";
    machine_.addresses = {"10.0.0.1"};
    machine_.cpus = {0, 1};
    machine_.numa_nodes = {0};
    machine_.memory_bytes = 8 * kGiB;
    machine_.free_huge_pages = 1024;
    machine_.lock_limit_bytes = std::numeric_limits<std::uint64_t>::max();
    rdma::verbs::DeviceFacts device;
    device.name = "mlx5_0";
    device.atomics = true;
    device.reads_out = device.reads_in = 16;
    device.queue_length = device.completion_queue_length = 1024;
    device.region_bytes = 64 * kGiB;
    device.ports = {{.number = 1, .active = true, .message_bytes = 1 << 30, .gids = {{3, true, "10.0.0.1"}}}};
    machine_.devices = {device};
    config_.nodes = {{.id = 1, .host = "a", .address = "10.0.0.1", .memory_bytes = kGiB},
                     {.id = 2, .host = "b", .address = "10.0.0.2", .memory_bytes = kGiB}};
  }
  Findings check() { return check_machine(config_, nodes_here(config_, machine_), machine_); }
  NodeConfig& node() { return config_.nodes.front(); }

  Machine machine_;
  ClusterConfig config_;
};

TEST_F(MachineChecks, RingsThatALogoutRemovesAreAWarning) {
  machine_.logout_removes_rings = true;
  const auto told = [&] { return std::ranges::count(check(), "logout", &Finding::subject); };
  EXPECT_EQ(told(), 0) << "it has no data, and so no rings";
  node().data_directory = "/data";
  EXPECT_EQ(about(check(), "logout").verdict, Verdict::kWarning);
  EXPECT_THAT(about(check(), "logout").mend, HasSubstr("RemoveIPC=no"));
  node().reliable_directory = "/dev/shm/rings";
  EXPECT_EQ(told(), 1);
  node().reliable_directory = "/dev/shmem";
  EXPECT_EQ(told(), 0);
  node().reliable_directory.clear();
  machine_.logout_removes_rings = false;
  EXPECT_EQ(told(), 0);
}

/// The last word counts: of the file with the greatest name below any of the directories, and of all before the main
/// file.
TEST(Logout, RemovesTheRingsOfUsersUnlessToldOtherwise) {
  const tests::TemporaryDirectory root;
  const auto say = [&](const std::string& path, const char* text) {
    const std::filesystem::path file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  EXPECT_FALSE(logout_removes_rings(root.path(), 1000)) << "no systemd";
  std::filesystem::create_directories(root / "run/systemd/system");
  EXPECT_TRUE(logout_removes_rings(root.path(), 1000));
  EXPECT_FALSE(logout_removes_rings(root.path(), 0));
  EXPECT_FALSE(logout_removes_rings(root.path(), 999));
  say("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\n");
  EXPECT_TRUE(logout_removes_rings(root.path(), 1000));
  say("etc/systemd/logind.conf", "[Login]\n RemoveIPC = no \n");
  EXPECT_FALSE(logout_removes_rings(root.path(), 1000));
  say("usr/lib/systemd/logind.conf.d/50-a.conf", "[Login]\nRemoveIPC=yes\n");
  EXPECT_TRUE(logout_removes_rings(root.path(), 1000));
  say("etc/systemd/logind.conf.d/60-b.conf", "[Login]\nRemoveIPC=off\n");
  EXPECT_FALSE(logout_removes_rings(root.path(), 1000));
}

/// Systemd does not mind the case of its words, and leaves a setting as it was where it cannot read the value.
TEST(Logout, ReadsTheWordsOfSystemd) {
  const tests::TemporaryDirectory root;
  std::filesystem::create_directories(root / "run/systemd/system");
  std::filesystem::create_directories(root / "etc/systemd");
  const auto removes = [&](const std::string& text) {
    std::ofstream(root / "etc/systemd/logind.conf") << "[Login]\n" << text;
    return logout_removes_rings(root.path(), 1000);
  };
  for (const char* const no : {"0", "no", "No", "NO", "n", "N", "false", "False", "f", "F", "off", "OFF"}) {
    EXPECT_FALSE(removes(std::string("RemoveIPC=") + no + "\n")) << no;
  }
  for (const char* const yes : {"1", "yes", "Yes", "y", "true", "T", "on", "ON"}) {
    EXPECT_TRUE(removes(std::string("RemoveIPC=no\nRemoveIPC=") + yes + "\n")) << yes;
  }
  for (const char* const neither : {"", "never", "nope", "2"}) {
    EXPECT_FALSE(removes(std::string("RemoveIPC=no\nRemoveIPC=") + neither + "\n")) << neither;
    EXPECT_TRUE(removes(std::string("RemoveIPC=") + neither + "\n")) << neither;
  }
}

TEST_F(MachineChecks, AGoodMachineIsGood) {
  config_.provider = Provider::kVerbs;
  for (const Finding& one : check()) {
    EXPECT_EQ(one.verdict, Verdict::kGood) << one.subject << ": " << one.found;
    EXPECT_EQ(one.mend, "");
  }
  EXPECT_EQ(about(check(), "device of 1").found, "mlx5_0 port 1");
}

TEST_F(MachineChecks, NodesAreHereByNameByAddressOrOnEveryHost) {
  EXPECT_EQ(nodes_here(config_, machine_).size(), 1u);
  config_.nodes[1].address = "10.0.0.1";
  EXPECT_EQ(nodes_here(config_, machine_).size(), 2u);
  config_.nodes[1] = {.id = 2, .host = "localhost"};
  EXPECT_EQ(nodes_here(config_, machine_).size(), 2u);
}

TEST_F(MachineChecks, WhatTheNodesNeedAndIsNotThereIsBad) {
  config_.provider = Provider::kVerbs;
  const auto expect_bad = [&](const std::string& subject, const std::string& says) {
    const Findings findings = check();
    EXPECT_EQ(about(findings, subject).verdict, Verdict::kBad);
    EXPECT_THAT(about(findings, subject).found, HasSubstr(says));
    EXPECT_NE(about(findings, subject).mend, "");
    EXPECT_TRUE(any_bad(findings));
  };
  node().memory_bytes = 9 * kGiB;
  expect_bad("memory", "9280MiB for 1 node, up to 64MiB of it location caches, of 8192 MiB");
  node().memory_bytes = kGiB;
  machine_.lock_limit_bytes = kGiB;
  expect_bad("locked memory", "may lock 1024 MiB");
  machine_.lock_limit_bytes = kGiB + (20 << 20);
  expect_bad("locked memory", "may lock 1044 MiB, a node needs more than 1044 MiB");
  machine_.lock_limit_bytes = 2 * kGiB;
  machine_.limits.address_bytes = kGiB;
  expect_bad("process limits", "may have 1024 MiB of addresses, a node needs 1344");
  machine_.limits.address_bytes = kNoLimit;
  machine_.limits.threads = 17;
  expect_bad("process limits", "may have 17 threads, the nodes need some 18");
  machine_.limits.threads = 18;
  machine_.limits.files = 91;
  expect_bad("process limits", "may have 91 open files, a node needs some 92");
  machine_.limits.files = 92;
  node().cpus = {1, 2};
  expect_bad("CPUs", "node 1 names CPU 2");
  node().cpus.clear();
  node().numa_node = 1;
  expect_bad("NUMA nodes", "names NUMA node 1; there are 1");
  node().numa_node = -1;
  node().device = "mlx5_1";
  expect_bad("device of 1", "mlx5_1");
  node().device = "mlx5_0";
  node().address = "10.0.0.9";
  expect_bad("address of 1", "no network device here has 10.0.0.9");
}

/// Each endpoint of a device takes two.
TEST_F(MachineChecks, ManyWorkersWithDevicesNeedManyFiles) {
  node().workers = 127;
  machine_.limits.files = 256;
  machine_.memory_bytes = 64 * kGiB;
  EXPECT_EQ(about(check(), "process limits").verdict, Verdict::kGood);
  config_.provider = Provider::kVerbs;
  EXPECT_EQ(about(check(), "process limits").verdict, Verdict::kBad);
  EXPECT_THAT(about(check(), "process limits").found, HasSubstr("a node needs some 596"));
}

TEST_F(MachineChecks, ADeviceHasAConnectionForEachNode) {
  config_.provider = Provider::kVerbs;
  while (config_.nodes.size() <= 1024 / 128) config_.nodes.push_back({.id = 3, .host = "b", .address = "10.0.0.2"});
  EXPECT_EQ(about(check(), "device of 1").verdict, Verdict::kBad);
  EXPECT_THAT(about(check(), "device of 1").found, HasSubstr("9 are needed"));
}

TEST_F(MachineChecks, WhatOnlyCostsSpeedIsAWarning) {
  machine_.free_huge_pages = 511;
  node().workers = 3;
  const Findings findings = check();
  EXPECT_FALSE(any_bad(findings));
  EXPECT_THAT(about(findings, "huge pages").mend, HasSubstr("sysctl vm.nr_hugepages=512"));
  EXPECT_EQ(about(findings, "huge pages").verdict, Verdict::kWarning);
  EXPECT_EQ(about(findings, "CPUs").verdict, Verdict::kWarning);
}

TEST_F(MachineChecks, ThisMachineCanBeAsked) {
  const Machine machine = this_machine(/*with_devices=*/false);
  EXPECT_NE(machine.host_name, "");
  EXPECT_TRUE(machine.addresses.contains("127.0.0.1"));
  EXPECT_FALSE(machine.cpus.empty());
  EXPECT_FALSE(machine.numa_nodes.empty());
  EXPECT_GT(machine.memory_bytes, kGiB / 4);
}

TEST(DirectoryChecks, AnHttpTokenThatIsMissingIsBad) {
  const tests::TemporaryDirectory directory;
  ClusterConfig config;
  config.run_directory = directory.path() + "/run";
  config.nodes = {{.id = 1, .http_token_file = directory.path() + "/token"}};
  const Finding missing = about(check_directories(config, config.nodes), "HTTP token of 1");
  EXPECT_EQ(missing.verdict, Verdict::kBad);
  EXPECT_THAT(missing.mend, HasSubstr("granary cluster key " + config.nodes[0].http_token_file));
  ASSERT_TRUE(cluster_config::make_key(config.nodes[0].http_token_file).ok());
  EXPECT_EQ(about(check_directories(config, config.nodes), "HTTP token of 1").verdict, Verdict::kGood);

  ASSERT_EQ(::chmod(config.nodes[0].http_token_file.c_str(), 0644), 0);
  const Finding open = about(check_directories(config, config.nodes), "HTTP token of 1");
  EXPECT_EQ(open.verdict, Verdict::kBad);
  EXPECT_THAT(open.mend, HasSubstr("mode 0600"));
  EXPECT_THAT(open.mend, Not(HasSubstr("granary cluster key"))) << "which makes no file where there is one";
}

/// As the node, when it starts.
TEST(DirectoryChecks, DataWithoutTheirMemberFileAreBad) {
  const tests::TemporaryDirectory directory;
  const ClusterConfig config{.name = "bank", .run_directory = directory / "run"};
  const std::vector<NodeConfig> here{{.id = 1, .data_directory = directory.path()}};
  ASSERT_TRUE(recovery::write_manifest(base::system_files(), directory.path(), {}).ok());
  const Finding data = about(check_directories(config, here), "directory of 1");
  EXPECT_EQ(data.verdict, Verdict::kBad);
  EXPECT_THAT(data.found, HasSubstr("/MEMBER', which says of which node"));
}

TEST(DirectoryChecks, WhatOthersMayReadOrNobodyMayWriteIsBad) {
  const tests::TemporaryDirectory directory;
  ClusterConfig config{.run_directory = directory.path(), .key_file = directory / "key"};
  const std::vector<NodeConfig> here{{.id = 1, .data_directory = directory / "not/yet/there"}};
  EXPECT_THAT(about(check_directories(config, here), "cluster key").mend, HasSubstr("granary cluster key "));
  ASSERT_TRUE(cluster_config::make_key(config.key_file).ok());
  EXPECT_FALSE(any_bad(check_directories(config, here)));

  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  EXPECT_THAT(about(check_directories(config, here), "run directory").mend, HasSubstr("chmod 700"));
  ASSERT_EQ(::chmod(directory.path().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(config.key_file.c_str(), 0644), 0);
  EXPECT_EQ(about(check_directories(config, here), "cluster key").verdict, Verdict::kBad);
  config.key_file.clear();
  EXPECT_FALSE(any_bad(check_directories(config, here)));
  EXPECT_TRUE(any_bad(check_directories(config, {{{.id = 1, .data_directory = "/dev/null/data"}}})));
  EXPECT_FALSE(std::filesystem::exists(directory / "not")) << "checks change nothing";
}

}  // namespace
}  // namespace granary::cluster_check
