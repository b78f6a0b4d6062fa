// Members that meet at a ZooKeeper server.

#include "tests/cluster_config/membership/zookeeper_world.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cluster_config/membership/zookeeper/session.h"
#include "cluster_config/membership/zookeeper/zookeeper_board.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

int run_script(const std::string& action, const std::string& directory, const std::string& more = "") {
  const std::string command = std::string(ZOOKEEPER_SCRIPT) + " " + action + " '" + directory + "' " + more;
  const int status = std::system((command + " > /dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Starts the server once, and stops it after the last case.
class Server {
 public:
  Server() {
    if (run("start", "--tick 200") != 0) return;
    std::ifstream(directory_ / "servers") >> address_;
  }
  ~Server() { run("stop"); }
  int run(const std::string& action, const std::string& more = "") {
    return run_script(action, directory_.path(), more);
  }
  bool wipe() {
    run("stop");
    std::filesystem::remove_all(directory_ / "0/data/version-2");
    return run("start") == 0;
  }
  const std::string& address() const { return address_; }

 private:
  const granary::tests::TemporaryDirectory directory_;
  std::string address_;
};

Server& server() {
  static Server server;
  return server;
}

class ZookeeperWorld final : public World {
 public:
  Result<std::unique_ptr<Board>> open() override { return open_zookeeper_board(options_); }
  void wipe() override {
    const Result<std::unique_ptr<Session>> session = Session::open(options_);
    ASSERT_TRUE(session.ok()) << session.status().message();
    remove(**session, options_.root);
  }

 private:
  static void remove(Session& session, const std::string& path) {
    const Result<std::vector<std::string>> names = session.children(path);
    ASSERT_TRUE(names.ok()) << names.status().message();
    for (const std::string& name : *names) remove(session, path + "/" + name);
    (void)session.remove(path, /*version=*/-1);
  }

  const ZookeeperOptions options_ = zookeeper_options();
};

}  // namespace

int zookeeper(const std::string& action) { return server().run(action); }
int zookeeper(const std::string& action, const std::string& directory) { return run_script(action, directory); }
bool wipe_zookeeper() { return server().wipe(); }
const std::string& zookeeper_server() { return server().address(); }

ZookeeperOptions zookeeper_options() {
  static int roots = 0;
  return {.servers = zookeeper_server(),
          .root = "/test/" + std::to_string(roots++),
          .digest = "",
          .session_ms = kSessionMs,
          .connect_ms = 20'000};
}

std::unique_ptr<World> make_world() {
  if (zookeeper_server().empty()) return nullptr;
  return std::make_unique<ZookeeperWorld>();
}

}  // namespace granary::membership::tests
