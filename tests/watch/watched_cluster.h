#pragma once
// A cluster file whose nodes tell of themselves by HTTP, and `granary node` processes that are its nodes.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/watch/http/fetch.h"
#include "tests/support/temporary_directory.h"
#include "tests/watch/raw_client.h"

namespace granary::tests {

inline std::string file_contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A process of the built command; killed, if it still runs, by the destructor.
class CommandProcess {
 public:
  CommandProcess(std::vector<std::string> words, const std::string& out, const std::string& err) {
    words.insert(words.begin(), GRANARY_COMMAND);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    const int flags = O_WRONLY | O_CREAT | O_APPEND, mode = 0600;
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, mode);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, mode);
    EXPECT_EQ(::posix_spawn(&pid_, GRANARY_COMMAND, &files, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&files);
  }
  ~CommandProcess() { kill(SIGKILL); }
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  /// Sends the signal and waits for the end; the exit code, or -1.
  int kill(int signal) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, signal);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

/// Of node 1 to `nodes`, which keep data.
class WatchedCluster {
 public:
  explicit WatchedCluster(unsigned nodes, const std::string& of_nodes = "") {
    std::filesystem::create_directory(path("run"));
    std::filesystem::permissions(path("run"), std::filesystem::perms::owner_all);
    std::ofstream text(file());
    text << "[cluster]\nname = \"bank\"\nrun_directory = \"run\"\nepoch_ms = 10\n[defaults]\nmemory = \"256MiB\"\n"
            "data_directory = \"data\"\nreliable_directory = \"rings\"\n"
         << of_nodes;
    for (unsigned id = 1; id <= nodes; ++id) {
      ports_.push_back(free_port());
      text << "[[node]]\nid = " << id << "\nhttp = \"" << ports_.back() << "\"\n";
    }
  }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::string file() const { return path("cluster.toml"); }
  std::uint16_t port(unsigned node) const { return ports_.at(node - 1); }

  void start(unsigned node, const std::string& flag = "--log_format=text") {
    nodes_[node] = std::make_unique<CommandProcess>(
        std::vector<std::string>{"node", "--cluster=" + file(), "--id=" + std::to_string(node), flag}, out(node),
        err(node));
  }
  CommandProcess& process(unsigned node) { return *nodes_.at(node); }
  std::string out(unsigned node) const { return path("out-" + std::to_string(node)); }
  std::string err(unsigned node) const { return path("err-" + std::to_string(node)); }

  http::Fetched get(unsigned node, const std::string& path, const std::string& token = "") const {
    return http::fetch_all({{"127.0.0.1", port(node), path, token}}, 5000).front();
  }
  nlohmann::json status(unsigned node, const std::string& token = "") const {
    const http::Fetched fetched = get(node, "/status.json", token);
    return nlohmann::json::parse(fetched.ok() ? fetched.body : "{}", nullptr, false);
  }
  bool ready(unsigned node) const { return get(node, "/readyz").status == 200; }

 private:
  static std::uint16_t free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    return ntohs(address.sin_port);
  }

  const TemporaryDirectory directory_;
  std::vector<std::uint16_t> ports_;
  std::map<unsigned, std::unique_ptr<CommandProcess>> nodes_;
};

/// Whether `holds` does within so long; it is asked again and again.
inline bool within(std::chrono::seconds limit, const std::function<bool()>& holds) {
  for (const auto until = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < until;) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace granary::tests
