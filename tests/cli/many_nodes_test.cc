// A cluster of 24 nodes of 64 MiB each on this host: it runs SmallBank across its nodes, no money is lost, and what a
// node has beside its tables stays small although it has mailboxes, connections and location caches for 23 others.
// No speed is judged.

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "src/base/sanitizers.h"
#include "tests/cli/command_line.h"
#include "tests/cli/node_processes.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using Json = nlohmann::json;
using tests::kMiB;

constexpr int kNodes = 24;
constexpr std::uint64_t kMostOutsideTables = 40 * kMiB;

/// The most memory that each node's process had, by the node's name in the report.
using MostMemory = std::map<std::string, std::uint64_t>;

void look_at_memory(const std::string& file, MostMemory& most) {
  const std::string kNode = "--node=";
  for (const ClusterProcess& process : processes_of(file)) {
    const std::size_t at = process.command_line.find(kNode);
    if (at == std::string::npos) continue;  // the process that started them
    std::uint64_t& bytes = most[std::string("node ") + &process.command_line[at + kNode.size()]];
    bytes = std::max(bytes, memory_of(process));
  }
}

class ManyNodes : public testing::Test {
 protected:
  ManyNodes() {
    std::ofstream out(file_);
    out << "[cluster]\nname = \"many\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"64MiB\"\n";
    for (int id = 1; id <= kNodes; ++id) out << "[[node]]\nid = " << id << "\n";
  }
  /// Runs the benchmark, and looks at the nodes' memory meanwhile.
  Ran run(const std::string& flags) {
    auto running = std::async(std::launch::async, [&] {
      return granary("cluster run smallbank --cluster=" + file_ + " --json=" + report_ +
                     " --workers=1 --repeat=1 --start_timeout=200 --noprogress " + flags);
    });
    while (running.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) look_at_memory(file_, most_);
    return running.get();
  }
  Json report() const { return Json::parse(contents(report_), nullptr, false)["granary"]; }

  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml", report_ = directory_ / "report.json";
  MostMemory most_;
};

void expect_right_money(const Json& repeat) {
  EXPECT_TRUE(repeat["verified"].get<bool>());
  EXPECT_FALSE(repeat["findings"].empty());
  for (const Json& finding : repeat["findings"]) EXPECT_TRUE(finding["holds"].get<bool>()) << finding;
  EXPECT_GT(repeat["total"]["committed"].get<std::uint64_t>(), 0u);
  EXPECT_GT(repeat["cluster"]["distributed"].get<std::uint64_t>(), 0u);
}

TEST_F(ManyNodes, RunSmallBankInLittleMemory) {
  const Ran ran = run("--accounts=1000 --distributed_percent=50 --warmup=0.5 --seconds=3");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("24 nodes"), std::string::npos) << ran.out;
  expect_right_money(report()["repeats"][0]);
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers take memory of their own";
  if (!memory_is_told()) GTEST_SKIP() << "this kernel does not tell how much memory a process has";
  const Json nodes = report()["nodes"][0];
  ASSERT_EQ(nodes.size(), std::size_t{kNodes});
  std::uint64_t greatest = 0;
  for (const auto& [name, node] : nodes.items()) {
    const Json& at_end = node["memory"]["at_end"];
    std::uint64_t tables = 0;
    for (const char* part : {"records_bytes", "index_bytes", "version_bytes"})
      tables += at_end[part].get<std::uint64_t>();
    EXPECT_GT(most_[name], tables) << name << " was not looked at";
    EXPECT_LE(most_[name], tables + kMostOutsideTables) << name;
    greatest = std::max(greatest, most_[name] - std::min(tables, most_[name]));
  }
  std::cout << "outside tables at most " << greatest / kMiB << " MiB a node\n";
}

}  // namespace
}  // namespace granary::cli
