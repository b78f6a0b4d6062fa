// An ensemble of three servers, one of which is cut off from the other two. It serves its clients' reads from its
// memory meanwhile, and knows nothing of what the others decide.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "cluster_config/membership/zookeeper/session.h"
#include "cluster_config/membership/zookeeper/zookeeper_board.h"
#include "tests/cluster_config/membership/lossy_proxy.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/cluster_config/membership/zookeeper_world.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

constexpr int kServers = 3;

std::array<int, 3 * kServers> free_ports() {
  std::array<int, 3 * kServers> ports{}, sockets{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size), 0);
    ports[i] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

/// Server 0 reaches the others' quorum ports, where the leader of the ensemble is one of, through proxies. It has the
/// lowest number, so it leads only if the others do not come.
class Ensemble {
 public:
  Ensemble() {
    for (int server = 1; server < kServers; ++server)
      links_.push_back(std::make_unique<LossyProxy>(at(quorum_port(server))));
    std::ofstream list(directory_ / "servers");
    for (int server = 0; server < kServers; ++server) {
      list << (server == 0 ? "" : ",") << address(server);
      configure(server);
    }
    list << "\n";
    list.close();
    serves_ = zookeeper("start", directory_.path()) == 0;
  }
  ~Ensemble() {
    cut_off(false);
    zookeeper("stop", directory_.path());
  }

  bool serves() const { return serves_; }
  std::string address(int server) const { return at(ports_[static_cast<std::size_t>(3 * server)]); }
  /// Server 0, from the others.
  void cut_off(bool cut) {
    for (const auto& link : links_) link->set_cut(cut);
  }

 private:
  static std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }
  int quorum_port(int server) const { return ports_[static_cast<std::size_t>(3 * server + 1)]; }

  /// As the script does it, but for the proxies.
  void configure(int server) {
    const std::filesystem::path home = directory_ / std::to_string(server);
    std::filesystem::create_directories(home / "data");
    std::ofstream(home / "data" / "myid") << server + 1 << "\n";
    std::ofstream(home / "log4j.properties")
        << "log4j.rootLogger=WARN, OUT\nlog4j.appender.OUT=org.apache.log4j.ConsoleAppender\n"
        << "log4j.appender.OUT.layout=org.apache.log4j.PatternLayout\n"
        << "log4j.appender.OUT.layout.ConversionPattern=%d %p %c{1} %m%n\n";
    std::ofstream file(home / "zoo.cfg");
    file << "tickTime=200\ninitLimit=50\nsyncLimit=40\nmaxClientCnxns=0\n4lw.commands.whitelist=srvr\n"
         << "dataDir=" << (home / "data").string() << "\nclientPortAddress=127.0.0.1\n"
         << "clientPort=" << ports_[static_cast<std::size_t>(3 * server)] << "\n";
    for (int peer = 0; peer < kServers; ++peer) {
      const bool through = server == 0 && peer != 0;
      file << "server." << peer + 1 << "="
           << (through ? links_[static_cast<std::size_t>(peer - 1)]->address() : at(quorum_port(peer))) << ":"
           << ports_[static_cast<std::size_t>(3 * peer + 2)] << "\n";
    }
  }

  const granary::tests::TemporaryDirectory directory_;
  const std::array<int, 3 * kServers> ports_ = free_ports();  ///< of each server: for clients, quorum, election
  std::vector<std::unique_ptr<LossyProxy>> links_;
  bool serves_ = false;
};

class EnsembleWorld final : public World {
 public:
  explicit EnsembleWorld(std::string servers)
      : options_{.servers = std::move(servers), .root = "/test/ensemble", .digest = "", .session_ms = 1500} {}
  Result<std::unique_ptr<Board>> open() override { return open_zookeeper_board(options_); }
  void wipe() override {}
  const ZookeeperOptions& options() const { return options_; }

 private:
  const ZookeeperOptions options_;
};

/// A node's right to commit comes from what a quorum has committed, not from what the server says that it talks to.
TEST(ZookeeperEnsemble, WhomTheOthersCountAsDeadCommitsNothingByAFollowersMemory) {
  if (zookeeper_server().empty()) GTEST_SKIP() << "there is no ZooKeeper to be had here";
  Ensemble ensemble;
  ASSERT_TRUE(ensemble.serves());
  EnsembleWorld cut_off(ensemble.address(0));
  EnsembleWorld whole(ensemble.address(1) + "," + ensemble.address(2));
  const Result<std::unique_ptr<Session>> reader = Session::open(cut_off.options());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  Node victim(cut_off, 0);
  Node other(whole, 1);
  ASSERT_TRUE(other.sees(0, MemberState::kJoining));

  std::atomic<bool> dead{false}, enough{false};
  std::atomic<std::uint64_t> commits{0}, after{0};
  std::thread worker([&] {
    while (!enough) {
      const bool died_before = dead;
      if (victim->fence().open(victim->fence().number())) ++(died_before ? after : commits);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  while (commits == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ensemble.cut_off(true);
  const bool died = other.sees(0, MemberState::kDead);
  dead = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  enough = true;
  worker.join();
  EXPECT_TRUE(died);
  EXPECT_EQ(after, 0u);
  EXPECT_TRUE((*reader)->get("/test/ensemble/members/0").ok()) << "the server has noticed, and nothing was shown";
  EXPECT_TRUE(victim->status().ok()) << "it cannot have heard of it: " << victim->status().message();
}

}  // namespace
}  // namespace granary::membership::tests
