#pragma once
// Lets the boards of one run directory wake each other, and learn of each other's end.
//
//   bell-R    a pipe (FIFO) that one board reads; R is a number that no other board draws. A board that has changed
//             something writes a byte into every bell. When the process of a board ends, in whatever way, the system
//             closes the pipe, and tells all processes that have it open for writing.
//
// inotify would tell the same, but must not be used. A process that has such a descriptor open ends only after the
// kernel has gone through a grace period of all watched files of the machine (fsnotify_destroy_group). On a busy
// machine that took up to 40 s. For so long no member could recover the dead node, since its process had been killed
// and had not ended.
//
// No change is missed: a board has its bell before it reads anything, and a change is made before bells are looked for.
// So either the bell is found, or what the board reads afterwards has the change. A board that misses a ring for
// another reason, such as too many open files, sees what has changed at its next pulse.

#include <poll.h>

#include <string>
#include <utility>
#include <vector>

#include <granary/status.h>

namespace granary::membership {

/// The bell of one board, and what it knows of the others. Only the board's waiting thread uses it, but any thread may
/// call ring_all().
class Bells {
 public:
  /// Makes a bell in the directory. It fails if the file system there has no pipes, or if this process may open no more
  /// files.
  static Result<Bells> hang(const std::string& directory);
  /// Takes the bell away.
  ~Bells();
  Bells(Bells&& from) noexcept
      : directory_(std::move(from.directory_)),
        name_(std::move(from.name_)),
        own_(std::exchange(from.own_, -1)),
        others_(std::move(from.others_)) {}
  Bells& operator=(Bells&&) = delete;

  /// Rings all bells of the directory, this board's too. Thread-safe.
  void ring_all() const;

  /// Adds the descriptors that show rings and ends, also those of bells that have come since the last call.
  void add_to(std::vector<pollfd>& polled);
  /// Takes the results of a poll, from the first descriptor that add_to() has added. Returns whether some board has
  /// rung, or ended.
  bool take(const pollfd* polled);

 private:
  struct Other {
    std::string name;
    int end;  ///< open for writing, but never written
  };
  Bells(std::string directory, std::string name, int own)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        own_(own) {}
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void look_for_others();

  std::string directory_;
  std::string name_;
  int own_;  ///< open for writing, too; a pipe without a writer would be readable all the time
  std::vector<Other> others_;
};

}  // namespace granary::membership
