// A node leaves while it cannot use its board: it goes on to tell the others while its Cluster object lives. What it
// tells them: tests/cluster_config/membership/untold_end_test.cc.

#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/local/local_board.h"
#include "tests/node/bank.h"

namespace granary::tests {
namespace {

/// While it lives, the process may open no more files. So a board of files cannot be used.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(UntoldLeave, IsToldWhileTheClusterObjectLives) {
  const ClusterFile file(1);
  auto cluster = Cluster::join(node_options(file, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  ASSERT_TRUE((*cluster)->start().ok());
  {
    const NoDescriptors none;
    const Status left = (*cluster)->leave();
    EXPECT_EQ(left.code(), StatusCode::kUnavailable) << left.message();
  }
  const std::string run = std::filesystem::path(file.path()).parent_path() / "run";
  const auto board = membership::open_local_board(run, /*timeout_us=*/60'000'000);
  ASSERT_TRUE(board.ok()) << board.status().message();
  const auto has_left = [&board = **board] {
    const auto document = board.read();
    const auto configuration = document.ok() ? membership::configuration_of(document->text) : document.status();
    return configuration.ok() && configuration->find(1)->state == membership::MemberState::kLeft;
  };
  EXPECT_TRUE(comes_true(has_left));
}

}  // namespace
}  // namespace granary::tests
