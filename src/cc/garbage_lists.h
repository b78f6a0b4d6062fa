#pragma once
// Has a worker's lists of garbage (Silo 4.8, 4.9). garbage.h adds items and frees them.

#include <cstddef>
#include <string>

#include "src/cc/index.h"
#include "src/epoch/limbo.h"
#include "src/record/record.h"

namespace granary::cc {

using record::Record;
using record::TidWord;

/// An absent or unborn record that waits to be unhooked from its index. An absent one waits until no snapshot needs it;
/// no snapshot needs an unborn one. It is unhooked only if its TID word is still `tid`.
struct AbsentRecord {
  Record* record;
  Index* index;
  TidWord tid;  ///< the TID word for which it was registered (I3)
  std::string key;
};

/// Each item waits in its list until its epoch is over everywhere.
struct GarbageLists {
  epoch::LimboList<Record*> versions;      ///< by the epoch of the TID that superseded them (snapshot reclamation)
  epoch::LimboList<AbsentRecord> absents;  ///< by the epoch of the removal (snapshot reclamation)
  epoch::LimboList<AbsentRecord> unborn;   ///< placeholders of aborted inserts (tree reclamation)
  epoch::LimboList<Record*> unhooked;      ///< by tree reclamation epoch

  std::size_t waiting() const { return versions.size() + absents.size() + unborn.size() + unhooked.size(); }
  bool empty() const { return waiting() == 0; }
};

}  // namespace granary::cc
