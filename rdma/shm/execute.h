#pragma once
// Does an operation on mapped memory by the initiator's CPU, with word-sized loads and stores and CPU atomics.
//
// I4: a READ loads words in ascending order, each with acquire, so a header's state is loaded before its TID word. I5:
// a WRITE stores words in ascending order, each with release, so of two WRITEs no thread sees the second without the
// first. By itself, x86-64 does not keep the order of a WRITE and a READ of another word. So an atomic operation on a
// word of the initiator's own stands between them, which drains its stores.

#include <atomic>
#include <cstdint>

#include "rdma/fabric.h"

namespace granary::rdma::shm {

/// The state that a connection keeps from one operation to the next.
class StoreOrder {
 public:
  void stored() { pending_ = true; }
  /// Makes earlier stores visible. Called before a load.
  void drain() {
    if (!pending_) return;
    word_.fetch_add(1, std::memory_order_seq_cst);
    pending_ = false;
  }
  /// Notes that another atomic operation has drained the stores.
  void drained() { pending_ = false; }

 private:
  std::atomic<std::uint64_t> word_{0};
  bool pending_ = false;
};

/// Prefetches the cache lines that a checked operation will touch, so that they come together with those of other
/// operations.
void fetch_ahead(const Operation& operation, const char* remote);
/// Does a checked operation on the memory at `remote`.
void execute(const Operation& operation, char* remote, StoreOrder& order);

}  // namespace granary::rdma::shm
