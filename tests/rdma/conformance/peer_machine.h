#pragma once
// Peers on another machine: an agent there (run_agent) starts and ends them, as it is told over TCP, a line at a time:
// "start NODE GENERATION LAYOUT KEY [worker|zombie]", "kill NODE", "stop NODE", "resume NODE"; each is answered by a
// line, "done" if it is. When the connection ends, so do the peers that it started. "end" ends the agent.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "tests/rdma/conformance/peer_process.h"

namespace granary::rdma::conformance {

inline constexpr std::uint16_t kAgentPort = 20100;

/// A connected socket that carries lines.
class LineSocket {
 public:
  explicit LineSocket(int socket) : socket_(socket) {}
  ~LineSocket() { ::close(socket_); }
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;

  void send(const std::string& line) {
    const std::string text = line + "\n";
    (void)!::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Empty when the other side has hung up.
  std::string receive() {
    std::string line;
    for (char byte = 0; ::recv(socket_, &byte, 1, 0) == 1 && byte != '\n';) line += byte;
    return line;
  }

 private:
  const int socket_;
};

inline sockaddr_in agent_address(const char* host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kAgentPort);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/// The test's side.
class PeerMachine {
 public:
  /// Waits for the agent to listen, which it does when its machine has started.
  explicit PeerMachine(const char* host) : agent_(connect_to(host)) {}

  void start(const NodeOptions& node, const std::string& role) {
    ask("start " + std::to_string(node.node) + " " + std::to_string(node.generation) + " " +
        std::to_string(node.layout) + " " + std::to_string(node.key[0]) + " " + role);
  }
  void ask(const std::string& command) {
    agent_.send(command);
    EXPECT_EQ(agent_.receive(), "done") << command;
  }

 private:
  static int connect_to(const char* host) {
    const sockaddr_in address = agent_address(host);
    for (int attempt = 0; attempt < 6000; ++attempt) {
      const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
      ::close(made);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "no agent at " << host;
    return -1;
  }

  LineSocket agent_;
};

/// Serves one test after the other, with peers of `program`.
inline int run_agent(const std::string& program) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = agent_address("0.0.0.0");
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 8) != 0)
    return 1;
  while (true) {
    LineSocket test(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    PeerProcesses peers(program);
    for (std::string line = test.receive(); !line.empty(); line = test.receive()) {
      std::istringstream words(line);
      std::string command;
      std::string role;
      NodeOptions node;
      unsigned key = 0;
      words >> command >> node.node >> node.generation >> node.layout >> key >> role;
      node.key[0] = static_cast<std::uint8_t>(key);
      if (command == "end") return 0;
      if (command == "start" && !peers.start(node, role.empty() ? std::vector<std::string>{} : std::vector{role})) {
        test.send("it did not start");
        continue;
      }
      if (command == "kill") peers.kill(node.node);
      if (command == "stop") peers.signal(node.node, SIGSTOP);
      if (command == "resume") peers.signal(node.node, SIGCONT);
      test.send("done");
    }
  }
}

/// Ends the agent at that machine.
inline int end_agent(const char* host) {
  const sockaddr_in address = agent_address(host);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
  LineSocket(made).send("end");
  return 0;
}

}  // namespace granary::rdma::conformance
