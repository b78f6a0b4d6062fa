#pragma once
// The heartbeat of a node of one host, in a file `node-N.beat` that it maps into its memory and that others look at. A node that
// stands still (stopped, frozen, starved of processors) has its mark still, and does not beat.
//
//   word 0   beats × 2, and 1 if the node is condemned
//   word 1   for how many microseconds the node may stand still
//
// Removing a node that stands still must be safe although it may go on at any moment. No clock can see to that alone: however short the
// time between the node's look at its clock and its commit is, it may be stopped there. So who removes a node *condemns* it
// first, by a compare-and-swap of the very beat that it has watched for too long:
//
// - Either the node beats first. Then the swap fails, and the node stays: it is alive.
// - Or the swap comes first. A condemned node stays condemned, as a beat adds 2 and keeps the bit. Its fence is this word (fence.h): every
//   commit that asks it from then on is refused, and only then does anybody write into the configuration that the node is dead.
//
// The clocks decide only when a node is taken for one that stands still, and that is the watcher's clock alone (silence.h).
//
// Word 0 is changed by the node (adding) and by watchers (compare-and-swap), both release; loads are acquires. Word 1 is the node's, before its
// first beat.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <granary/status.h>

namespace granary::membership {

class Heartbeat {
 public:
  static constexpr std::uint64_t kCondemned = 1;

  /// Begins a life of the node whose mark the caller holds: it has beaten once, and is not condemned. What watchers of an earlier
  /// life have seen, this one never shows.
  static Result<Heartbeat> begin(const std::string& path, std::uint64_t timeout_us);
  /// Of another node, to look at; kNotFound if there is none yet.
  static Result<Heartbeat> look(const std::string& path);
  /// The same, to condemn(). Who watches the directory notices.
  static Result<Heartbeat> reach(const std::string& path);
  ~Heartbeat();
  Heartbeat(Heartbeat&& from) noexcept : words_(std::exchange(from.words_, nullptr)) {}
  Heartbeat& operator=(Heartbeat&&) = delete;

  /// The node's own: shows that it goes on. False if it is condemned.
  bool beat() { return (words_->beats.fetch_add(2, std::memory_order_acq_rel) & kCondemned) == 0; }
  /// Changes with each beat.
  std::uint64_t word() const { return words_->beats.load(std::memory_order_acquire); }
  bool condemned() const { return (word() & kCondemned) != 0; }
  std::uint64_t timeout_us() const { return words_->timeout_us.load(std::memory_order_relaxed); }
  /// Condemns the node if its word still is `seen`. Whether it is condemned now, by whomever.
  bool condemn(std::uint64_t seen);

  /// What the node's fence asks; there as long as this object.
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
