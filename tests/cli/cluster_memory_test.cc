// What the nodes of one host take in all, with caches of each other's locations, against what `granary cluster check`
// adds up for them. The kernel tells by Pss, which counts a page that several processes have mapped once.

#include <algorithm>
#include <chrono>
#include <future>
#include <regex>
#include <thread>

#include "src/base/sanitizers.h"
#include "tests/cli/command_line.h"
#include "tests/cli/node_processes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/units.h"

namespace granary::cli {
namespace {

using tests::kMiB;

constexpr int kNodes = 6;

/// Of all processes whose command line names the file.
struct Sum {
  int processes = 0;
  std::uint64_t bytes = 0;
};
Sum sum_of(const std::string& file) {
  Sum sum;
  for (const ClusterProcess& process : processes_of(file)) {
    const std::uint64_t bytes = memory_of(process);
    sum.processes += bytes == 0 ? 0 : 1;
    sum.bytes += bytes;
  }
  return sum;
}

/// What is found for the host's memory, in bytes; 0 if the line is not there.
std::uint64_t added_up(const std::string& file) {
  const Ran check = granary("cluster check " + file);
  std::smatch found;
  if (!std::regex_search(check.out, found, std::regex("([0-9]+) ?MiB for 6 nodes"))) {
    ADD_FAILURE() << check.out << check.err;
    return 0;
  }
  return std::stoull(found[1]) * kMiB;
}

TEST(ClusterMemory, SixNodesTakeNoMoreThanIsAddedUpForThem) {
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers take memory of their own";
  if (!memory_is_told()) GTEST_SKIP() << "this kernel does not tell";
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "cluster.toml";
  std::ofstream out(file);
  out << "[cluster]\nname = \"many\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"64MiB\"\nlocation_cache = "
         "\"4MiB\"\n";
  for (int id = 1; id <= kNodes; ++id) out << "[[node]]\nid = " << id << "\n";
  out.close();
  const std::uint64_t allowed = added_up(file);
  auto running = std::async(std::launch::async, [&] {
    return granary(
        "cluster run ycsb --cluster=" + file +
        " --keys=5000 --distributed_percent=80 --workers=1 --warmup=0.1 --seconds=1 --repeat=1 --noprogress");
  });
  Sum most;
  while (running.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    const Sum sum = sum_of(file);
    most.processes = std::max(most.processes, sum.processes);
    most.bytes = std::max(most.bytes, sum.bytes);
  }
  const Ran ran = running.get();
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_GE(most.processes, kNodes);
  EXPECT_LE(most.bytes, allowed);
  std::cout << most.bytes / kMiB << " MiB of " << allowed / kMiB << "\n";
}

}  // namespace
}  // namespace granary::cli
