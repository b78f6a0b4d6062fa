#pragma once
// What a procedure, or a piece of one, says of itself in advance: the tables that it touches, and how. Whether
// procedures may run in pieces is decided by it (procedure.h).

#include <cstdint>
#include <string>
#include <vector>

namespace granary {

enum class AccessMode : std::uint8_t {
  kRead,   ///< gets and scans
  kWrite,  ///< everything else
  kAdd,    ///< adds to a number and neither tells nor uses what it was: additions may change places
};

struct DeclaredAccess {
  std::string table;
  AccessMode mode = AccessMode::kRead;
  /// Two accesses of different classes never meet: of other keys, or of other columns. Empty: any of the table.
  std::string keys = {};
};

using DeclaredAccesses = std::vector<DeclaredAccess>;

}  // namespace granary
