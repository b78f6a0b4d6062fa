#pragma once
// Keeps the heartbeat of a node of one host, in a file `node-N.beat` that the node maps into its memory and that others
// look at. A node that stands still (stopped, frozen, starved of processors) still has its mark, but does not beat.
//
//   word 0   beats × 2, and 1 if the node is condemned
//   word 1   for how many microseconds the node may stand still
//
// Removing a node that stands still must be safe although it may go on at any moment. Clocks alone cannot ensure that:
// the node may be stopped between its look at the clock and its commit, however short that time is. So a watcher that
// removes a node *condemns* it first, by a compare-and-swap of the very beat that the watcher has seen for too long:
//
// - Either the node beats first. Then the swap fails, and the node stays: it is alive.
// - Or the swap comes first. A condemned node stays condemned, as a beat adds 2 and keeps the bit. Its fence asks this
//   word (fence.h), so every commit that asks from then on is refused. Only after that does any member write into the
//   configuration that the node is dead.
//
// Clocks only decide when a node counts as standing still, and only the watcher's clock does (silence.h).
//
// The node (by adding) and watchers (by compare-and-swap) change word 0, both with release; loads are acquires. The
// node writes word 1 before its first beat.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <granary/status.h>

namespace granary::membership {

class Heartbeat {
 public:
  static constexpr std::uint64_t kCondemned = 1;

  /// Begins a life of the node whose mark the caller holds. Afterwards the node has beaten once, and is not condemned.
  /// The new life never shows a word that watchers have seen of an earlier one, so their compare-and-swaps fail.
  static Result<Heartbeat> begin(const std::string& path, std::uint64_t timeout_us);
  /// Opens the heartbeat of another node, to look at it. Returns kNotFound if that node has none yet.
  static Result<Heartbeat> look(const std::string& path);
  /// Opens the heartbeat of another node for condemn().
  static Result<Heartbeat> reach(const std::string& path);
  ~Heartbeat();
  Heartbeat(Heartbeat&& from) noexcept : words_(std::exchange(from.words_, nullptr)) {}
  Heartbeat& operator=(Heartbeat&&) = delete;

  /// Shows that this node goes on. Returns false if the node is condemned. Only the node itself calls it.
  bool beat() { return (words_->beats.fetch_add(2, std::memory_order_acq_rel) & kCondemned) == 0; }
  /// Returns the word, which changes with each beat.
  std::uint64_t word() const { return words_->beats.load(std::memory_order_acquire); }
  bool condemned() const { return (word() & kCondemned) != 0; }
  std::uint64_t timeout_us() const { return words_->timeout_us.load(std::memory_order_relaxed); }
  /// Condemns the node if its word still is `seen`. Returns whether the node is condemned now, by this watcher or
  /// another one.
  bool condemn(std::uint64_t seen);

  /// Returns the word that the node's fence asks. It lives as long as this object.
  const std::atomic<std::uint64_t>& verdict() const { return words_->beats; }

 private:
  struct Words {
    std::atomic<std::uint64_t> beats;
    std::atomic<std::uint64_t> timeout_us;
  };
  explicit Heartbeat(Words* words) : words_(words) {}
  static Result<Heartbeat> map(const std::string& path, int flags, int protection);

  Words* words_;
};

}  // namespace granary::membership
