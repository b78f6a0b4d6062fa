#pragma once
// Keeps an endpoint's completions until they are polled. Room for a chain's completion is made when the chain is
// posted, where the caller knows what to do without memory. The device gives a chain back only once, and in any
// caller's turn, so to take account of that must not need any.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "rdma/fabric.h"
#include "src/base/check.h"

namespace granary::rdma::verbs {

class Reports {
 public:
  /// Makes room for the completion of one more chain. Throws std::bad_alloc, and expects none, if there is no memory.
  void expect() {
    if (kept_.size() + expected_ == kept_.capacity()) make_room();
    ++expected_;
  }
  /// Adds a completion that was expected.
  void add(const Completion& completion) noexcept {
    base::debug_check(expected_ != 0, "a chain is given back once");
    --expected_;
    kept_.push_back(completion);  // has room since expect()
  }
  std::size_t size() const { return kept_.size() - first_; }
  bool empty() const { return size() == 0; }
  /// Takes the oldest one. Precondition: it is not empty.
  Completion take() {
    const Completion taken = kept_[first_++];
    if (first_ == kept_.size()) drop_taken();
    return taken;
  }
  /// Drops all of this connection.
  void drop(ConnectionId connection) {
    drop_taken();
    std::erase_if(kept_, [connection](const Completion& one) { return one.connection == connection; });
  }

 private:
  void drop_taken() {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void make_room() {
    drop_taken();
    constexpr std::size_t kLeast = 64;
    // Twice as much as is needed, so that few calls have to move what is kept.
    if (const std::size_t needed = kept_.size() + expected_ + 1; 2 * needed > kept_.capacity())
      kept_.reserve(std::max(2 * needed, kLeast));
  }

  std::vector<Completion> kept_;  ///< those before `first_` are taken; has room for `expected_` more
  std::size_t first_ = 0;
  std::size_t expected_ = 0;  ///< how many more completions there is room for
};

}  // namespace granary::rdma::verbs
