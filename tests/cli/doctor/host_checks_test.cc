// What `granary doctor` makes of hosts and devices that are values here. What this machine is like is asked once, and
// not judged.

#include "src/cli/doctor/host_checks.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

namespace granary::doctor {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const Finding& about(const Findings& findings, const std::string& subject) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.subject == subject; });
  EXPECT_NE(found, findings.end()) << "nothing about " << subject;
  return found == findings.end() ? findings.front() : *found;
}

class HostChecks : public testing::Test {
 protected:
  HostChecks() {
    host_.machine.cpus = {0, 1};
    host_.machine.numa_nodes = {0};
    host_.machine.memory_bytes = 8 * kGiB;
    host_.machine.lock_limit_bytes = std::numeric_limits<std::uint64_t>::max();
    host_.description.kernel = "Linux 6.1.0-28-amd64";
    host_.description.cpu_model = "A Processor";
    host_.description.governor = "performance";
    host_.description.transparent_huge_pages = "madvise";
    host_.description.shared_huge_pages = "advise";
    host_.description.huge_pages_total = host_.description.huge_pages_free = 64;
    host_.cpu_flags = {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3", "constant_tsc", "nonstop_tsc"};
    host_.tsx_works = true;
    host_.clock_source = "tsc";
    host_.ptp4l = true;
    host_.available_bytes = 4 * kGiB;
    host_.open_files = 65'536;
    host_.shared_memory = {.type = "tmpfs", .size_bytes = 4 * kGiB, .free_bytes = 4 * kGiB};
  }
  void expect(const std::string& subject, Verdict verdict, const std::string& mend) const {
    const Findings findings = check_host(host_);
    EXPECT_EQ(about(findings, subject).verdict, verdict) << about(findings, subject).found;
    EXPECT_THAT(about(findings, subject).mend, HasSubstr(mend));
  }

  Host host_;
};

TEST_F(HostChecks, AGoodHostIsGood) {
  for (const Finding& one : check_host(host_)) {
    EXPECT_EQ(one.verdict, Verdict::kGood) << one.subject << ": " << one.found;
    EXPECT_EQ(one.mend, "");
  }
}

TEST_F(HostChecks, WhatGranaryCannotRunOnIsBad) {
  host_.description.kernel = "Linux 5.2.21";
  expect("kernel", Verdict::kBad, "Linux 5.3 or later");
  host_.description.kernel = "Linux 4.19.0";
  expect("kernel", Verdict::kBad, "Linux 5.3 or later");
  host_.description.kernel = "";
  expect("kernel", Verdict::kBad, "Linux 5.3 or later");
  host_.cpu_flags.erase("ssse3");
  expect("processor", Verdict::kBad, "x86-64-v2");
  host_.shared_memory.type = "ext4";
  expect("/dev/shm", Verdict::kBad, "mount -t tmpfs");
  host_.shared_memory = {};
  expect("/dev/shm", Verdict::kBad, "mount -t tmpfs");
}

TEST_F(HostChecks, WhatOnlyCostsSpeedIsAWarning) {
  host_.cpu_flags.erase("nonstop_tsc");
  host_.description.governor = "powersave";
  host_.available_bytes = kGiB / 8;
  host_.swap_bytes = kGiB;
  host_.description.transparent_huge_pages = host_.description.shared_huge_pages = "never";
  host_.open_files = 256;
  host_.shared_memory.free_bytes = kGiB / 16;
  expect("time counter", Verdict::kWarning, "invtsc");
  expect("frequency", Verdict::kWarning, "cpupower frequency-set -g performance");
  expect("memory", Verdict::kWarning, "ps aux");
  expect("swap", Verdict::kWarning, "swapoff");
  expect("huge pages", Verdict::kWarning, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  expect("shared huge pages", Verdict::kWarning, "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
  expect("open files", Verdict::kWarning, "ulimit -n");
  expect("/dev/shm", Verdict::kWarning, "remount");
  host_.machine.logout_removes_rings = true;
  expect("logout", Verdict::kWarning, "RemoveIPC=no");
  EXPECT_FALSE(any_bad(check_host(host_)));
  host_.cpu_flags.insert("nonstop_tsc");
  host_.clock_source = "hpet";
  expect("time counter", Verdict::kWarning, "dmesg");
}

TEST_F(HostChecks, WhatOnlySomeNeedIsANote) {
  host_.tsx_works = host_.ptp4l = false;
  host_.machine.numa_nodes = {0, 1};
  host_.machine.lock_limit_bytes = kGiB;
  host_.description.huge_pages_total = 0;
  expect("Intel TSX", Verdict::kNote, "");
  expect("PTP", Verdict::kNote, "linuxptp");
  expect("NUMA nodes", Verdict::kNote, "numa_node");
  expect("reserved pages", Verdict::kNote, "vm.nr_hugepages");
  expect("locked memory", Verdict::kNote, "memlock unlimited");
  host_.machine.devices.resize(1);
  expect("locked memory", Verdict::kWarning, "memlock unlimited");
}

TEST_F(HostChecks, LevelsOfTheProcessorBuildOnEachOther) {
  EXPECT_EQ(x86_level({}), 1);
  EXPECT_EQ(x86_level(host_.cpu_flags), 2);
  auto flags = host_.cpu_flags;
  for (const char* flag : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) flags.insert(flag);
  EXPECT_EQ(x86_level(flags), 2) << "without AVX2 there is no level 3";
  for (const char* flag : {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}) flags.insert(flag);
  EXPECT_EQ(x86_level(flags), 4);
}

TEST(DeviceChecks, DevicesAndTheirPortsAreJudged) {
  EXPECT_EQ(about(check_devices({}), "RDMA devices").verdict, Verdict::kNote);
  rdma::verbs::DeviceFacts device;
  device.name = "mlx5_0";
  device.atomics = true;
  device.ports = {
      {.number = 1, .active = true, .message_bytes = 1, .mtu_bytes = 4096, .gids = {{3, true, "10.0.0.1"}}}};
  rdma::verbs::PortFacts& port = device.ports.front();
  const auto port_finding = [&] { return about(check_devices({&device, 1}), "mlx5_0 port 1"); };
  EXPECT_EQ(about(check_devices({&device, 1}), "mlx5_0").verdict, Verdict::kGood);
  EXPECT_EQ(port_finding().verdict, Verdict::kGood);
  EXPECT_EQ(port_finding().found, "active, Ethernet, MTU 4096, RoCE v2 GID of 10.0.0.1");
  port.mtu_bytes = 1024;
  EXPECT_EQ(port_finding().verdict, Verdict::kNote);
  EXPECT_THAT(port_finding().mend, HasSubstr("mtu 4200"));
  port.gids.front().roce_v2 = false;
  EXPECT_EQ(port_finding().verdict, Verdict::kWarning);
  EXPECT_THAT(port_finding().mend, HasSubstr("ip address add"));
  port.infiniband = true;
  EXPECT_EQ(port_finding().verdict, Verdict::kGood) << "InfiniBand has no GIDs of that kind";
  port.active = false;
  EXPECT_EQ(port_finding().verdict, Verdict::kWarning);
  device.atomics = false;
  EXPECT_EQ(about(check_devices({&device, 1}), "mlx5_0").verdict, Verdict::kBad);
  device.trouble = "cannot be opened";
  device.ports.clear();
  EXPECT_THAT(about(check_devices({&device, 1}), "mlx5_0").mend, HasSubstr("/dev/infiniband"));
}

TEST(HostFacts, ThisHostCanBeAsked) {
  const Host host = this_host();
  EXPECT_THAT(host.description.kernel, HasSubstr("Linux"));
  EXPECT_FALSE(host.cpu_flags.empty());
  EXPECT_GE(x86_level(host.cpu_flags), 2) << "this program runs";
  EXPECT_GT(host.open_files, 0u);
  EXPECT_GT(host.available_bytes, 0u);
  EXPECT_EQ(file_system_of("/proc/nowhere").type, "");
  EXPECT_NE(file_system_of("/").type, "");
}

}  // namespace
}  // namespace granary::doctor
