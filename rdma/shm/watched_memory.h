#pragma once
// Does operations on the memory of a peer that simulates HTM regions, in builds with test hooks.
//
// Such a peer passes its line table (src/base/line_table.h) like a region, and says where its regions lie in its own
// address space, since the entry of a line is that of its address there. So the peer's own accesses, its regions and
// all operations on its memory meet in one entry. An operation acts word by word, as other processors do: it waits
// while a line is locked, and holds it locked while it stores a word. One READ may load several words at different
// moments. But if it has loaded a word that a region has stored, it loads all later ones as that region has left them.
//
// Processes must not hold each other up by dying:
//   - If this process dies and leaves an entry locked, the owner breaks the lock when the kernel tells it of the end
//     (Guests). The entry says by holder_of() that the dead process held it.
//   - If the owner dies and leaves an entry locked, or no process breaks another dead process's lock any more, this
//     process stops waiting as soon as the peer is dead, and goes on without the lock: nothing may follow from that
//     memory (peer.h).

#include <span>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/shm/execute.h"
#include "rdma/shm/hello.h"
#include "src/base/line_table.h"

namespace granary::rdma::shm {

class Peer;

/// Names the line table among the regions of a greeting. Operations cannot reach it.
inline constexpr RegionId kLineTable = 0xfffe;

/// Returns the number by which entries of other processes' tables name a life of a node. The next lives have other
/// numbers, because an owner may hear of the end of one life only after it has let in the next.
constexpr base::lines::Holder holder_of(NodeId node, Generation generation) {
  constexpr Generation kLives = 256;
  static_assert(((NodeId{0xffff} * kLives + kLives - 1 + 1) >> base::lines::kHolderBits) == 0);
  return node * kLives + generation % kLives + 1;  // never kOwner
}

/// Adds this process's line table to the memory that a greeting passes. From then on its simulated regions see the
/// operations of peers.
Status pass_line_table(Hello& greeting, std::vector<int>& files);

/// Does checked operations on the memory of a peer that simulates regions, one after the other.
void execute_watched(std::span<const Operation> chain, const Peer& owner, StoreOrder& order);

}  // namespace granary::rdma::shm
