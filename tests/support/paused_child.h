#pragma once
// A child process that the test forks. It inherits all descriptors, calls no exec, and only pauses for as long as this
// object lives.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace granary::tests {

class PausedChild {
 public:
  PausedChild() : process_(::fork()) {
    while (process_ == 0) ::pause();
  }
  ~PausedChild() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  PausedChild(const PausedChild&) = delete;
  PausedChild& operator=(const PausedChild&) = delete;

 private:
  const pid_t process_;
};

}  // namespace granary::tests
