#pragma once
// Has a board in memory, for tests and simulated clusters. All members are objects of one process, and calls say what
// happens to them and to the board.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster_config/membership/board.h"

namespace granary::membership {

/// The state that the boards of one cluster share. Thread-safe.
class MemoryPlace {
 public:
  /// Removes the node's mark, as at the end of its process or its session.
  void remove_mark(NodeId id);
  /// Forgets everything, like a board that was wiped.
  void wipe();
  /// Sets whether boards reach the place. If not, their calls fail with kUnavailable.
  void set_reachable(bool reachable);
  /// Sets whether the place is full. If it is, no document can be written (kDiskFull).
  void set_full(bool full);
  /// Sets what happens in each call of replace() before it does anything.
  void set_before_replace(std::function<void()> act);
  /// Sets another end for own_valid_until_us, which is kForever otherwise.
  void set_valid_until(std::uint64_t time_us);
  /// Sets another value of fence_lasts_us(), which is 0 otherwise.
  void set_fence_lasts(std::uint64_t time_us);

 private:
  friend class MemoryBoard;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  bool reachable_ = true;
  bool full_ = false;
  std::function<void()> before_replace_;
  std::uint64_t valid_until_us_ = kForever;
  std::uint64_t fence_lasts_us_ = 0;
  Document document_;
  struct Mark {
    const void* owner;
    std::string who;
  };
  std::map<NodeId, Mark> marks_;

  void change();
};

class MemoryBoard final : public Board {
 public:
  explicit MemoryBoard(std::shared_ptr<MemoryPlace> place) : place_(std::move(place)) {}
  ~MemoryBoard() override;

  std::string name() const override { return "the board in memory"; }
  Status mark(NodeId id, const std::string& who) override;
  Status unmark() override;
  Result<Marks> marks() override;
  Result<Document> read() override;
  Result<bool> replace(std::uint64_t version, const std::string& text) override;
  void wait(std::uint64_t timeout_us) override;
  void wake() override;
  std::uint64_t linger_us() const override { return 0; }
  std::uint64_t fence_lasts_us() const override;
  std::uint64_t pulse_us() const override { return 100'000; }

 private:
  Status unreachable() const;
  bool has_own_mark() const;

  const std::shared_ptr<MemoryPlace> place_;
  bool marked_ = false;
  NodeId id_ = 0;
  bool woken_ = false;              ///< guarded by the place's mutex
  std::uint64_t seen_changes_ = 0;  ///< only for the waiting thread
};

}  // namespace granary::membership
