#pragma once
// The points of a commit at which tests kill a process: of one that writes at three nodes, two counters at each
// (crash.h).

#include <ostream>
#include <vector>

#include "tests/node/crash.h"

namespace granary::tests {

struct Point {
  Death death;
  Fate fate;  ///< of the transaction
  friend void PrintTo(const Point& point, std::ostream* out) { *out << name_of(point.death); }
};

/// At which the coordinator dies.
inline std::vector<Point> coordinators_points() {
  return {{{"test.executed"}, Fate::kUndecided},                   // nothing is locked
          {{"shm.operation", 4, "test.locks"}, Fate::kUndecided},  // some of four are
          {{"x_lock.taken", 2}, Fate::kUndecided},
          {{"across.locked"}, Fate::kUndecided},  // all that is elsewhere
          {{"across.validated"}, Fate::kUndecided},
          {{"across.deciding"}, Fate::kUndecided},                     // its entry is written, and not there yet
          {{"across.logged"}, Fate::kDecided},                         // nothing of it can be seen
          {{"install.copied", 1}, Fate::kDecided},                     // one of two local writes
          {{"across.installed"}, Fate::kDecided},                      // both
          {{"shm.half", 0, "across.installed"}, Fate::kDecided},       // in the middle of a write-back
          {{"shm.operation", 1, "across.installed"}, Fate::kDecided},  // one is there, and still locked
          {{"shm.operation", 4, "across.installed"}, Fate::kDecided},  // half of them are there and free
          {{"shm.operation", 7, "across.installed"}, Fate::kDecided},  // one is locked
          {{"across.written_back"}, Fate::kDecided},
          {{"logger.appended"}, Fate::kEnded},  // the file has it, the ring, too
          {{"logger.gave_room"}, Fate::kEnded},
          {{"logger.synced"}, Fate::kEnded},
          {{"logger.published"}, Fate::kEnded},
          {{"test.released"}, Fate::kReleased}};  // and nobody has been told
}

/// At which the coordinator dies while it keeps old versions of four records: two blocks at each of two other nodes.
inline std::vector<Point> points_of_old_versions() {
  const std::string kBorrowed = "old_versions.borrowed";
  return {{{kBorrowed}, Fate::kUndecided},                      // nothing is written to the blocks
          {{"shm.half", 0, kBorrowed}, Fate::kUndecided},       // half a copy
          {{"shm.operation", 1, kBorrowed}, Fate::kUndecided},  // a copy that is not linked
          {{"version_copy.linked"}, Fate::kUndecided},
          {{"version_copy.linked", 3}, Fate::kUndecided}};  // all are
}

/// At which the coordinator stands while a participant dies.
inline std::vector<Point> participants_points() {
  return {{{"test.executed"}, Fate::kEnded},
          {{"across.locked"}, Fate::kEnded},
          {{"across.validated"}, Fate::kEnded},
          {{"across.logged"}, Fate::kEnded},
          {{"shm.operation", 3, "across.installed"}, Fate::kEnded}};
}

}  // namespace granary::tests
