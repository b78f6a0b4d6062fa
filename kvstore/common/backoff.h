#pragma once
// Waits for another thread inside an index: spins for a short time, then gives the processor away, because the other
// thread may need it.

#include "src/base/cache_line.h"
#include "src/base/give_way.h"

namespace granary::kvstore {

class Backoff {
 public:
  void pause() {
    if (++turns_ % kSpins == 0) {
      base::give_way();
    } else {
      base::spin_pause();
    }
  }

 private:
  static constexpr unsigned kSpins = 64;
  unsigned turns_ = 0;
};

}  // namespace granary::kvstore
