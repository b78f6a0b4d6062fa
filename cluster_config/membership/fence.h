#pragma once
// Holds a node's right to commit. I11: a node that lost its membership stops before others may act on its behalf, and a
// transaction that began in an older membership can no longer commit.
//
// A transaction notes number() when it begins, and asks open() before its decision. When a life begins or ends, the
// node's Membership moves or closes the fence before it tells the rest of the node. So once a thread was told, and has
// waited for the commits that were under way, no other transaction of the older membership commits. If nodes share
// memory (`local`), other nodes set a bit of a word that the fence asks, before they count the node as dead. So the
// fence is closed by then even if the node's own threads have not run. No question helps if a process is stopped
// between the answer and its next step. Therefore peers also cut a victim off.

#include <atomic>
#include <cstdint>

#include "cluster_config/membership/lifetime.h"
#include "src/base/cache_line.h"
#include "src/base/test_hooks.h"

namespace granary::membership {

/// The fence of one node. The node's Membership writes it, and workers read it. It has a cache line of its own, which
/// changes a few times a second at most. Stores are releases and loads acquires: a worker that sees a number sees
/// everything that was done before the fence moved to it.
class alignas(base::kCacheLine) Fence {
 public:
  static constexpr std::uint64_t kClosed = 0;  ///< the number at a node that is no member

  /// Returns the number of the present membership (Configuration::number).
  std::uint64_t number() const { return number_.load(std::memory_order_acquire); }
  /// Returns the time, by lifetime_us(), until which no member takes this node for gone; kForever while its process
  /// lives.
  std::uint64_t valid_until_us() const { return valid_until_us_.load(std::memory_order_acquire); }

  /// Whether a transaction that noted `number` may commit now.
  bool open(std::uint64_t noted) const {
    if (noted == kClosed || number() != noted || condemned()) return false;
    const std::uint64_t end = valid_until_us();
    return end == kForever || lifetime_us() < end;
  }
  /// Tells the same as open(), for a time that the caller gives (simulations).
  bool open_at(std::uint64_t noted, std::uint64_t now_us) const {
    return noted != kClosed && number() == noted && !condemned() && now_us < valid_until_us();
  }

  /// Whether others have condemned this node: it is dead, or about to be, in a configuration that it may not have seen.
  bool condemned() const {
    return (verdict_->load(std::memory_order_acquire) & 1) != 0 && !base::injected("fence-ignores-verdict");
  }
  /// Sets the word that condemned() asks (Board::verdict()), before the first question. The word must outlive the
  /// fence.
  void heed(const std::atomic<std::uint64_t>& verdict) { verdict_ = &verdict; }

  void move(std::uint64_t number) { number_.store(number, std::memory_order_release); }
  void extend(std::uint64_t valid_until_us) { valid_until_us_.store(valid_until_us, std::memory_order_release); }
  void close() {
    extend(0);
    move(kClosed);
  }

 private:
  std::atomic<std::uint64_t> number_{kClosed};
  std::atomic<std::uint64_t> valid_until_us_{0};
  std::atomic<std::uint64_t> no_verdict_{0};  ///< for kinds without such a word; it is never set
  const std::atomic<std::uint64_t>* verdict_ = &no_verdict_;
};

}  // namespace granary::membership
