#pragma once
// A node's process may be killed in the middle of a run, and another one take its place. What the next one has to know
// lies in files beside the node's history: how many lives there were, and how far the lists have come that they
// appended to. These words are mapped, so they outlive the process like all else that it has written.

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

  /// How many lives there were before this one.
  std::uint64_t earlier() const { return earlier_; }
  /// For KeySlots: one for each slot, 0 in the first life. So no life appends what an earlier one may have appended.
  std::span<std::atomic<std::uint64_t>> counts() const;
  /// Where this life's part of the history goes. The last line of a former one may not be whole.
  std::string history() const;

  /// The parts that the lives of a node have left, in their order.
  static std::vector<std::string> histories(const std::string& file);

 private:
  NodeLives(std::string file, void* words, std::size_t slots);

  const std::string file_;
  /// The lives so far, and the counts; written by this process alone, relaxed.
  std::atomic<std::uint64_t>* const words_;
  const std::size_t slots_;
  std::uint64_t earlier_ = 0;
};

}  // namespace granary::bench::append
