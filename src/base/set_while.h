#pragma once
// Holds a flag set for a while.

namespace granary::base {

/// Sets a flag for as long as it lives, also when an exception ends that.
class SetWhile {
 public:
  explicit SetWhile(bool& flag) : flag_(flag) { flag_ = true; }
  ~SetWhile() { flag_ = false; }
  SetWhile(const SetWhile&) = delete;
  SetWhile& operator=(const SetWhile&) = delete;

 private:
  bool& flag_;
};

}  // namespace granary::base
