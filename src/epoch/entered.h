#pragma once
// An epoch slot that is entered as long as this lives (I13): what was found in an index, and records, stay where they
// are.

#include "src/epoch/epoch.h"

namespace granary::epoch {

class Entered {
 public:
  Entered(EpochManager& epochs, Slot& slot) : epochs_(epochs), slot_(slot) { epochs_.enter(slot_); }
  ~Entered() { epochs_.leave(slot_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  EpochManager& epochs_;
  Slot& slot_;
};

}  // namespace granary::epoch
