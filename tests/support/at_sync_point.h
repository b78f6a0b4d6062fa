#pragma once
// Stops this thread inside the engine, at a named sync point, and runs something else there. So one thread does what
// two threads might do by chance, and does it in the same order every time. Needs a build with test hooks.

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"

namespace granary::tests {

class AtSyncPoint {
 public:
  /// Runs `action` when this thread passes `point` for the `nth` time (sync points inside the action do not count).
  AtSyncPoint(std::string point, std::function<void()> action, int nth = 1)
      : point_(std::move(point)),
        action_(std::move(action)),
        left_(nth) {
    base::set_sync_hook([this](std::string_view passed) {
      if (passed != point_ || left_ == 0 || --left_ != 0) return;
      reached_ = true;
      action_();
    });
  }
  ~AtSyncPoint() {
    base::set_sync_hook({});
    EXPECT_TRUE(reached_) << "never passed " << point_;
  }
  AtSyncPoint(const AtSyncPoint&) = delete;
  AtSyncPoint& operator=(const AtSyncPoint&) = delete;

  bool reached() const { return reached_; }

 private:
  const std::string point_;
  const std::function<void()> action_;
  int left_;
  bool reached_ = false;
};

}  // namespace granary::tests
