#pragma once
// A cluster of nodes, each in a thread of this process with everything that a process of its own would have; over
// shared memory, or what else the test program is for (provider.h).

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "tests/node/provider.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {

class ClusterFile {
 public:
  /// `more`: lines of the section of the cluster; `defaults`: of that which holds for all nodes.
  explicit ClusterFile(unsigned nodes, unsigned workers = 2, const std::string& more = {},
                       const std::string& defaults = {}) {
    std::filesystem::create_directory(directory_.path() + "/run");
    std::filesystem::permissions(directory_.path() + "/run", std::filesystem::perms::owner_all);
    std::ofstream file(path());
    file << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n"
         << provider_lines(directory_.path()) << more;
    // Tests that stop processes for a while, or a machine that is busy, are not to remove nodes.
    if (more.find("[membership]") == std::string::npos) file << "[membership]\nsession_timeout_ms = 60000\n";
    file << "[defaults]\nmemory = \"64MiB\"\nworkers = " << workers << "\n" << defaults;
    for (unsigned id = 1; id <= nodes; ++id) file << "[[node]]\nid = " << id << "\n" << provider_lines(id);
  }
  std::string path() const { return directory_.path() + "/cluster.toml"; }

 private:
  TemporaryDirectory directory_;
};

inline ClusterOptions node_options(const ClusterFile& file, NodeNumber node) {
  ClusterOptions options{.file = file.path(), .node = node};
  options.database.huge_pages = HugePages::kOff;
  options.start_timeout_ms = 60'000;
  return options;
}

/// Runs `body` on each node's thread; all have joined.
inline void on_each_node(
    const ClusterFile& file, unsigned nodes, const std::function<void(Cluster&)>& body,
    const std::function<void(ClusterOptions&)>& options_of = [](ClusterOptions&) {}) {
  std::vector<std::thread> threads;
  for (unsigned id = 1; id <= nodes; ++id) {
    threads.emplace_back([&, id] {
      ClusterOptions options = node_options(file, static_cast<NodeNumber>(id));
      options_of(options);
      auto cluster = Cluster::join(options);
      ASSERT_TRUE(cluster.ok()) << cluster.status().message();
      body(**cluster);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace granary::tests
