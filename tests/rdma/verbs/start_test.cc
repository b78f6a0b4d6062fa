// What a node meets when it starts on a real device: what is refused, and with which words. Runs in a virtual machine.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "rdma/verbs/verbs_fabric.h"

namespace granary::rdma::verbs {
namespace {

constexpr std::uint64_t kPatience_us = 60'000'000;  // for an emulated device of a busy machine

VerbsOptions options(NodeId node) {
  VerbsOptions options;
  options.node = {.node = node, .generation = 1, .layout = 1};
  options.service = static_cast<std::uint16_t>(21000 + node);
  options.tolerate_swap_stores = true;
  return options;
}

std::unique_ptr<memory::Region> region(std::uint64_t bytes) {
  return memory::Region::map({.reserve_bytes = bytes, .huge_pages = HugePages::kOff}).value();
}

void expect(const Status& status, StatusCode code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(VerbsStart, FindsTheDeviceAndItsAddress) {
  const auto fabric = open_verbs_fabric(options(1));
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ((*fabric)->provider(), "verbs");
  const Status status = (*fabric)->listen();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(VerbsStart, RefusesADeviceOrAddressThatIsNotThere) {
  VerbsOptions wanted = options(1);
  wanted.device = "mlx5_7";
  expect(open_verbs_fabric(wanted).status(), StatusCode::kNotFound, "this machine has rxe0");
  wanted = options(1);
  wanted.address = "10.99.0.1";
  expect(open_verbs_fabric(wanted).status(), StatusCode::kUnavailable, "10.99.0.1");
}

TEST(VerbsStart, RefusesAServiceThatIsTaken) {
  const auto first = open_verbs_fabric(options(1));
  ASSERT_TRUE(first.ok());
  expect(open_verbs_fabric(options(1)).status(), StatusCode::kUnavailable, "another process has the service 21001");
}

TEST(VerbsStart, RefusesARegionTooManyAndOneTakenTwice) {
  const auto fabric = open_verbs_fabric(options(1));
  ASSERT_TRUE(fabric.ok());
  const auto memory = region(4096);
  RegionId id = 0;
  Status status;
  while (status.ok()) status = (*fabric)->register_region({.id = ++id}, *memory);
  expect(status, StatusCode::kResourceExhausted, "one too many");
  EXPECT_TRUE((*fabric)->register_region({.id = 100, .access = Access::kLocal}, *memory).ok());
  expect((*fabric)->register_region({.id = 100, .access = Access::kLocal}, *memory), StatusCode::kAlreadyExists, "100");
}

TEST(VerbsStart, NamesTheLimitOfLockedMemory) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 8 << 20, .rlim_max = 8 << 20};
    const auto memory = region(64 << 20);
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setuid(65534) != 0) ::_exit(2);
    const auto fabric = open_verbs_fabric(options(1));
    if (!fabric.ok()) ::_exit(3);
    const Status status = (*fabric)->register_region({.id = 1}, *memory);
    const bool told =
        status.code() == StatusCode::kResourceExhausted && status.message().find("ulimit -l") != std::string::npos;
    ::_exit(told ? 0 : 4);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

TEST(VerbsStart, TellsACallerThatItsAddressLeadsToAnotherNode) {
  const auto other = open_verbs_fabric(options(3));
  ASSERT_TRUE(other.ok() && (*other)->listen().ok());
  VerbsOptions wanted = options(1);
  wanted.peers = {{2, std::getenv("VM_ADDRESS"), 21003}};
  const auto fabric = open_verbs_fabric(wanted);
  ASSERT_TRUE(fabric.ok() && (*fabric)->listen().ok());
  const auto endpoint = (*fabric)->open_endpoint();
  ASSERT_TRUE(endpoint.ok());
  expect((*endpoint)->connect(2, kPatience_us).status(), StatusCode::kFailedPrecondition, "it is node 3");
  expect((*endpoint)->connect(7, kPatience_us).status(), StatusCode::kUnavailable, "no address is known of node 7");
}

/// A node that listens, and an endpoint of it connected to node 3.
struct Caller {
  explicit Caller(std::uint16_t service) {
    VerbsOptions wanted = options(1);
    wanted.service = service;
    wanted.peers = {{3, std::getenv("VM_ADDRESS"), 21003}};
    fabric = open_verbs_fabric(wanted).value();
    EXPECT_TRUE(fabric->listen().ok());
    endpoint = fabric->open_endpoint().value();
  }
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Endpoint> endpoint;
};

// I5. Two processes play one: both say that they are the same endpoint of the same life of node 1.
TEST(VerbsStart, ANewerConnectionOfAnEndpointEndsTheOneBeforeAndALateOneIsRefused) {
  const auto peer = open_verbs_fabric(options(3));
  ASSERT_TRUE(peer.ok() && (*peer)->listen().ok());
  const Caller first(21001), second(21002);
  const Result<ConnectionId> old = first.endpoint->connect(3, kPatience_us);
  ASSERT_TRUE(old.ok()) << old.status().message();
  expect(second.endpoint->connect(3, kPatience_us).status(), StatusCode::kFailedPrecondition, "came late");
  const Result<ConnectionId> newer = second.endpoint->connect(3, kPatience_us);
  ASSERT_TRUE(newer.ok()) << newer.status().message();
  for (std::uint64_t waited_us = 0; waited_us < kPatience_us && first.endpoint->status(*old).ok();
       waited_us += 10'000) {
    ::usleep(10'000);
  }
  EXPECT_EQ(first.endpoint->status(*old).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(second.endpoint->status(*newer).ok());
}

}  // namespace
}  // namespace granary::rdma::verbs
