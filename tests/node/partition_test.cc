// Partitions between living processes: each node has a network of its own, and a cable to the network of the ZooKeeper
// server, which is pulled, lets messages through one way only, or comes and goes. Over shared memory the nodes reach
// each other all the while, so each still sees those that it is to take for dead, and they see it. The others take a
// node for dead that the server does not hear, recover it, and go on; a supervisor starts it again; and the counters of
// all nodes show that nothing acknowledged was lost and nothing was done twice.
//
// Networks are namespaces that end with the processes in them. Needs root, iproute2 and util-linux, and ZooKeeper.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crash/disks.h"
#include "tests/node/bank_under_load.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

using crash::run_program;
using std::chrono::milliseconds;
using tests::BankUnderLoad;
using tests::CrashChild;
using tests::kBankNodes;

constexpr const char* kServer = "10.77.77.1";
/// The longest that the server grants, since a busy machine may take long to be heard.
constexpr milliseconds kSession(4000);
constexpr auto kSoon = std::chrono::seconds(20);

std::string cable(NodeNumber node) { return fmt::format("cable-{}", node); }
std::string address(NodeNumber node) { return fmt::format("10.77.{}.2", node); }
std::string gateway(NodeNumber node) { return fmt::format("10.77.{}.1", node); }

/// Runs `ip` in this process's network, or in that of another process. Returns what is wrong; "" if nothing.
std::string ip(std::vector<std::string> words, pid_t process = 0) {
  words.insert(words.begin(), "ip");
  if (process != 0) {
    const std::vector<std::string> there{"nsenter", "-t", std::to_string(process), "-n"};
    words.insert(words.begin(), there.begin(), there.end());
  }
  std::string said;
  return run_program(words, &said) == 0 ? "" : fmt::format("{}: {}", fmt::join(words, " "), said);
}

/// A network of this process's own, and in it a ZooKeeper server, which a process of its own ends when this one has
/// ended.
class ServersNetwork {
 public:
  ServersNetwork() {
    if (::unshare(CLONE_NEWNET) != 0) {
      why_not_ = "no network namespace can be made, which needs root";
      return;
    }
    why_not_ = ip({"link", "set", "lo", "up"});
    if (why_not_.empty()) why_not_ = ip({"address", "add", std::string(kServer) + "/32", "dev", "lo"});
    if (!why_not_.empty()) return;
    if (run(fmt::format("start '{}' --tick 200 --address {}", directory_.path(), kServer)) != 0) {
      why_not_ = "there is no ZooKeeper to be had here";
      return;
    }
    std::ifstream(directory_.path() + "/servers") >> server_;
    guard();
  }
  ~ServersNetwork() {
    if (guard_ <= 0) return;
    ::close(ends_[1]);
    ::waitpid(guard_, nullptr, 0);
  }
  ServersNetwork(const ServersNetwork&) = delete;
  ServersNetwork& operator=(const ServersNetwork&) = delete;

  const std::string& why_not() const { return why_not_; }
  const std::string& server() const { return server_; }

 private:
  static int run(const std::string& words) {
    const int status = std::system((std::string(ZOOKEEPER_SCRIPT) + " " + words + " > /dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void guard() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    guard_ = ::fork();
    if (guard_ != 0) return;
    ::setsid();
    ::close(ends_[1]);
    char byte = 0;
    while (::read(ends_[0], &byte, 1) < 0) {
    }
    (void)run(fmt::format("stop '{}'", directory_.path()));
    ::_exit(0);
  }

  const tests::TemporaryDirectory directory_;
  std::string why_not_;
  std::string server_;
  std::array<int, 2> ends_{-1, -1};
  pid_t guard_ = -1;
};

ServersNetwork& network() {
  static ServersNetwork network;
  return network;
}

enum class Cut : std::uint8_t {
  kCable,     ///< is pulled
  kToServer,  ///< messages of the node are lost
  kToNode,    ///< messages of the server are lost
  kFlapping,  ///< the cable is pulled and put back every 100 ms
};
struct Case {
  std::string name;
  Cut cut = Cut::kCable;
  std::vector<NodeNumber> nodes = {2};
};

class Partition : public BankUnderLoad, public testing::WithParamInterface<Case> {
 protected:
  Partition()
      : BankUnderLoad({.membership = fmt::format("[membership]\nkind = \"zookeeper\"\nservers = [\"{}\"]\nchroot = "
                                                 "\"/test/{}\"\nsession_timeout_ms = {}\n",
                                                 network().server(), GetParam().name, kSession.count())}) {
    is_started_again_ = true;
  }
  void SetUp() override {
    BankUnderLoad::SetUp();
    if (!IsSkipped() && !network().why_not().empty()) GTEST_SKIP() << network().why_not();
  }

  /// In a node's process: moves into a network of its own, with a cable to the network of the test.
  void begins(NodeNumber id, bool /*first_life*/) override {
    const pid_t test = ::getppid();
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
    (void)ip({"link", "del", cable(id)}, test);  // of a former life, which may not be gone yet
    ASSERT_EQ(ip({"link", "add", "eth0", "type", "veth", "peer", "name", cable(id), "netns", std::to_string(test)}),
              "");
    ASSERT_EQ(ip({"address", "add", gateway(id) + "/30", "dev", cable(id)}, test), "");
    ASSERT_EQ(ip({"link", "set", cable(id), "up"}, test), "");
    ASSERT_EQ(ip({"address", "add", address(id) + "/30", "dev", "eth0"}), "");
    ASSERT_EQ(ip({"link", "set", "eth0", "up"}), "");
    ASSERT_EQ(ip({"route", "add", "default", "via", gateway(id)}), "");
  }

  void cut(NodeNumber id) {
    switch (GetParam().cut) {
      case Cut::kCable:
      case Cut::kFlapping: EXPECT_EQ(ip({"link", "set", cable(id), "down"}), ""); break;
      case Cut::kToServer:
        EXPECT_EQ(ip({"route", "add", "blackhole", std::string(kServer) + "/32"}, child(id)->process()), "");
        break;
      case Cut::kToNode: EXPECT_EQ(ip({"route", "add", "blackhole", address(id) + "/32"}), ""); break;
    }
  }
  /// A network that has ended with its node has no cable, nor routes.
  void mend(NodeNumber id) {
    switch (GetParam().cut) {
      case Cut::kCable:
      case Cut::kFlapping: (void)ip({"link", "set", cable(id), "up"}); break;
      case Cut::kToServer:
        (void)ip({"route", "del", "blackhole", std::string(kServer) + "/32"}, child(id)->process());
        break;
      case Cut::kToNode: EXPECT_EQ(ip({"route", "del", "blackhole", address(id) + "/32"}), ""); break;
    }
  }
  void flap(const std::vector<NodeNumber>& nodes) {
    constexpr unsigned kTimes = 30;
    for (unsigned i = 0; i < kTimes; ++i) {
      for (const NodeNumber id : nodes) (void)(child(id)->ended() ? void() : cut(id));
      std::this_thread::sleep_for(milliseconds(100));
      for (const NodeNumber id : nodes) mend(id);
      std::this_thread::sleep_for(milliseconds(100));
    }
  }

  bool is_cut(NodeNumber id) const { return std::ranges::count(GetParam().nodes, id) != 0; }
  /// While they are cut off: they end, and the others go on.
  void expect_deaths() {
    for (const NodeNumber id : GetParam().nodes) {
      EXPECT_TRUE(tests::comes_true([&] { return child(id)->ended(); }, kSoon))
          << "node " << id << " lives on, though the server has not heard it";
    }
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      const std::uint64_t before = flags_.nodes[id].alone;
      EXPECT_TRUE(is_cut(id) || child(id)->ended() ||
                  tests::comes_true([&] { return flags_.nodes[id].alone > before + 50; }, kSoon))
          << "node " << id << " stands still";
    }
  }
  /// Does what a supervisor does, until all commit and release: whoever has ended is started again.
  void start_again_until_all_go_on() {
    std::array<std::uint64_t, kBankNodes + 1> committed{}, released{};
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      committed[id] = flags_.nodes[id].committed + 10;
      released[id] = flags_.nodes[id].released + 1;
    }
    EXPECT_TRUE(tests::comes_true([&] {
      bool all = true;
      for (NodeNumber id = 1; id <= kBankNodes; ++id) {
        if (child(id)->ended()) {
          const CrashChild::End end = child(id)->wait();
          EXPECT_TRUE(end.killed || end.exit_code == 0) << "node " << id << " has missed something";
          std::this_thread::sleep_for(milliseconds(200));
          child(id) = std::make_unique<CrashChild>(node(id, /*load=*/false));
        }
        all &= flags_.nodes[id].committed >= committed[id] && flags_.nodes[id].released >= released[id];
      }
      return all;
    })) << "not all nodes have come back";
  }
  /// Each life may have had one transaction under way of which it has not heard.
  void expect_each_done_once() const {
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      const auto& node = flags_.nodes[id];
      const std::uint64_t counted = node.counted - tests::kMoney;  // which each account began with
      EXPECT_GE(counted, node.committed) << "node " << id << " has lost transactions";
      EXPECT_LE(counted, node.committed + node.lives) << "transactions of node " << id << " were done twice";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Cuts, Partition,
                         testing::Values(Case{"Cable", Cut::kCable}, Case{"ToServer", Cut::kToServer},
                                         Case{"ToNode", Cut::kToNode}, Case{"Leader", Cut::kToNode, {1}},
                                         Case{"Flapping", Cut::kFlapping},
                                         Case{"AllFlapping", Cut::kFlapping, {1, 2, 3}}),
                         [](const auto& info) { return info.param.name; });

TEST_P(Partition, LosesNothingAndHeals) {
  const std::vector<NodeNumber>& nodes = GetParam().nodes;
  ASSERT_NO_FATAL_FAILURE(start_all());
  if (GetParam().cut == Cut::kFlapping) {
    flap(nodes);
  } else {
    for (const NodeNumber id : nodes) cut(id);
    expect_deaths();
    for (const NodeNumber id : nodes) mend(id);
  }
  start_again_until_all_go_on();
  end_all();
  expect_each_done_once();
}

}  // namespace
}  // namespace granary
