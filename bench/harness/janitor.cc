#include "bench/harness/janitor.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace granary::bench {

Janitor::Janitor(const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  // The shell gives up this process's output, whose reader would wait for the shell's end otherwise.
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string script = "read -r never; rm -rf -- \"$1\"", shell = "sh", option = "-c", path = directory;
  char* const arguments[] = {shell.data(), option.data(), script.data(), shell.data(), path.data(), nullptr};
  if (::posix_spawn(&process_, "/bin/sh", &files, &attributes, arguments, environ) != 0) process_ = -1;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[0]);
  pipe_ = ends[1];
}

Janitor::~Janitor() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pipe_ >= 0) ::close(pipe_);
}

}  // namespace granary::bench
