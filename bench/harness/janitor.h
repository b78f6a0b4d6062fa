#pragma once
// Removes a directory when this process ends, however it ends: a signal may come while a database is being loaded, when nothing in the
// process itself can remove what its threads are still writing.

#include <sys/types.h>

#include <string>

namespace granary::bench {

/// Starts a shell that waits until all ends of a pipe in this process and its forks are closed, and then removes the directory. It has a
/// process group of its own, so that an interrupt at the terminal does not reach it. Where it cannot be started nothing is removed.
class Janitor {
 public:
  explicit Janitor(const std::string& directory);
  /// Lets it go to work, and waits for its end.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

}  // namespace granary::bench
