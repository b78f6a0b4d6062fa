#pragma once
// Removes a directory when this process ends, however it ends: a signal may come while a database is being loaded, when
// nothing in the process itself can remove what its threads are still writing.

#include <sys/types.h>

#include <string>

namespace granary::bench {

/// Starts a shell that waits until this process and its forks have ended, and then removes the directory. It waits at a
/// pipe, of which they have the other end. The shell has a process group of its own, so that an interrupt at the
/// terminal does not reach it. If it cannot be started, nothing is removed.
class Janitor {
 public:
  explicit Janitor(const std::string& directory);
  /// Ends the shell. The owner has removed the directory.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

}  // namespace granary::bench
