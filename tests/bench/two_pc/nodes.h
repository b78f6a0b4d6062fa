#pragma once
// Several nodes of the baseline in this process, over TCP on the loopback device.

#include <gtest/gtest.h>

#include "bench/store/two_pc/two_pc_store.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::two_pc {

class Nodes {
 public:
  explicit Nodes(std::uint32_t count) {
    for (std::uint32_t node = 0; node < count; ++node) {
      auto opened =
          TwoPcStore::open({.directory = directory(), .share = {.node = node, .nodes = count, .in_cluster = true}});
      EXPECT_TRUE(opened.ok()) << opened.status().message();
      stores_.push_back(std::move(*opened));
    }
  }
  /// What all nodes open their stores with.
  std::string directory() const { return directory_ / "run"; }
  TwoPcStore& operator[](std::uint32_t node) { return *stores_[node]; }
  void stop(std::uint32_t node) { stores_[node].reset(); }

 private:
  const tests::TemporaryDirectory directory_;
  std::vector<std::unique_ptr<TwoPcStore>> stores_;
};

}  // namespace granary::bench::two_pc
