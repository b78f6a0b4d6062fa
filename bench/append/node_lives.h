#pragma once
// Keeps figures that a node's process leaves to the next one, since it may be killed in the middle of a run and another
// one take its place. Files beside the node's history hold how many lives there were, and how many appends were made to
// each slot. They are mapped, so the words outlive the process like all else that it has written.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <granary/status.h>

namespace granary::bench::append {

class NodeLives {
 public:
  /// Begins the next life of the node whose history is written to `file`. Precondition: no former life goes on.
  static Result<std::unique_ptr<NodeLives>> begin(const std::string& file, std::size_t slots);
  ~NodeLives();
  NodeLives(const NodeLives&) = delete;
  NodeLives& operator=(const NodeLives&) = delete;

  /// Returns how many lives there were before this one.
  std::uint64_t earlier() const { return earlier_; }
  /// Returns the counts for KeySlots, one for each slot, which are 0 in the first life. With them no life repeats an
  /// append that an earlier one may have made.
  std::span<std::atomic<std::uint64_t>> counts() const;
  /// Returns the file for this life's part of the history. Each life has its own, as the last line of a former one may
  /// not be whole.
  std::string history() const;

  /// Returns the parts that the lives of a node have left, in their order.
  static std::vector<std::string> histories(const std::string& file);

 private:
  NodeLives(std::string file, void* words, std::size_t slots);

  const std::string file_;
  /// The number of lives, and the counts. Written by this process alone, relaxed.
  std::atomic<std::uint64_t>* const words_;
  const std::size_t slots_;
  std::uint64_t earlier_ = 0;
};

}  // namespace granary::bench::append
