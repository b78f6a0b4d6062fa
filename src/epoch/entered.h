#pragma once
// Keeps an epoch slot entered for as long as an object lives (I13). Meanwhile records, and all that is found in an
// index, stay in their places.

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
