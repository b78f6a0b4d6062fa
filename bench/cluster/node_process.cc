#include "bench/cluster/node_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bench/harness/rendezvous.h"
#include "bench/harness/time_line.h"
#include "src/base/print.h"

namespace granary::bench::cluster {

namespace {

/// Turns the new process into the node. Calls only functions that are allowed between fork and exec.
[[noreturn]] void become(char* const* words, pid_t parent, int output, int socket, int inherited) {
  constexpr int kNotStarted = 127;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotStarted);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (socket == kRendezvousDescriptor) {
    fcntl(socket, F_SETFD, 0);
  } else {
    dup2(socket, kRendezvousDescriptor);
  }
  if (inherited >= 0) dup2(inherited, kTimeLineDescriptor);
  execv(words[0], words);
  _exit(kNotStarted);
}

Status failed(const std::string& label, const char* what) {
  return Status(StatusCode::kUnavailable, fmt::format("{}: {}: {}", label, what, std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<NodeProcess>> NodeProcess::start(std::string label, const std::vector<std::string>& words,
                                                        int inherited) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int sockets[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed(label, "socketpair");
  if (pipe2(pipes, O_CLOEXEC) != 0) return failed(label, "pipe");
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) become(arguments.data(), parent, pipes[1], sockets[1], inherited);
  close(sockets[1]);
  close(pipes[1]);
  const int end = pid < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pid >= 0 && end >= 0)
    return std::unique_ptr<NodeProcess>(new NodeProcess(std::move(label), pid, pipes[0], sockets[0], end));
  const Status status = failed(label, "cannot start a process");
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  close(sockets[0]);
  close(pipes[0]);
  return status;
}

NodeProcess::NodeProcess(std::string label, pid_t pid, int output, int socket, int end)
    : label_(std::move(label)),
      pid_(pid),
      output_(output),
      socket_(socket),
      end_(end) {}

NodeProcess::~NodeProcess() {
  if (lives()) {
    signal(SIGKILL);
    reap();
  }
  close_socket();
  close(output_);
  close(end_);
}

bool NodeProcess::forward_output() {
  char bytes[4096];
  const ssize_t got = read(output_, bytes, sizeof bytes);
  if (got < 0) return errno == EINTR;
  line_.append(bytes, static_cast<std::size_t>(got));
  for (std::size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1))
    base::print(stderr, "{}: {}\n", label_, line_.substr(0, end));
  return got != 0;
}

void NodeProcess::signal(int number) const {
  if (lives()) kill(pid_, number);
}

int NodeProcess::reap() {
  if (code_) return *code_;
  int state = 0;
  while (waitpid(pid_, &state, 0) < 0 && errno == EINTR) {
  }
  code_ = WIFEXITED(state) ? WEXITSTATUS(state) : 256 + WTERMSIG(state);
  return *code_;
}

void NodeProcess::close_socket() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

}  // namespace granary::bench::cluster
