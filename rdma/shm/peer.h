#pragma once
// Keeps one life of a peer as this process sees it: its regions, mapped here, and whether it still lives. The
// connections of all endpoints share it.
//
// The memory stays mapped after the peer has died, and operations on it still "work" until the death is noticed. So
// nothing may follow from its content (I26; the protocols treat the last 10 ms before a breakage as unknown).

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "rdma/region_table.h"
#include "rdma/shm/bell.h"
#include "rdma/shm/descriptor.h"
#include "rdma/shm/hello.h"
#include "rdma/shm/process.h"
#include "src/base/line_table.h"

namespace granary::rdma::shm {

class Peer {
 public:
  /// Maps the regions that the hello names. The peer is dead when its socket is hung up, or its process has ended.
  /// `self` names this process in the entries of the peer's line table.
  static Result<std::shared_ptr<Peer>> map(ReceivedHello received, Descriptor socket, base::lines::Holder self);
  /// Unmaps the regions, and tells the peer so.
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const PeerRegions& regions() const { return regions_; }
  /// Returns the memory at an address that check_chain() has passed.
  char* at(const RemoteAddress& address) const {
    return bases_[static_cast<std::size_t>(regions_.find(address.region))] + address.offset;
  }

  // --- for a peer that simulates HTM regions (watched_memory.h) ---
  bool watched() const {
    if constexpr (base::kTestHooks) {
      return lines_ != nullptr;
    } else {
      return false;
    }
  }
  base::lines::Table& line_table() const { return *lines_; }
  base::lines::Holder holder_there() const { return self_; }
  /// Returns the peer's own address of the memory that at() returns.
  std::uint64_t address_there(const RemoteAddress& address) const {
    return addresses_[static_cast<std::size_t>(regions_.find(address.region))] + address.offset;
  }

  /// Returns the bell of one of the peer's endpoints; `id` is below kMostBells.
  Bell bell(BellId id) const { return {own_region_, id}; }

  enum class Life : std::uint8_t { kLives, kEnded, kCutOff };
  /// Returns how the peer is. The watcher or the thread that cuts the peer off changes the word once; every post and
  /// poll reads it. Acquire pairs with the release of end().
  Life life() const { return life_.load(std::memory_order_acquire); }
  bool dead() const { return life() != Life::kLives; }
  void end(Life how) {
    Life living = Life::kLives;
    life_.compare_exchange_strong(living, how, std::memory_order_release, std::memory_order_relaxed);
  }
  /// Returns "node 3 (process 4711)".
  std::string name() const;

  int socket() const { return socket_.get(); }
  /// Whether the peer has closed its side. Once it has let this process in, it sends nothing at this socket.
  bool has_hung_up() const { return wait_readable(socket_.get(), 0); }
  const std::shared_ptr<const Process>& process() const { return process_; }

 private:
  Peer(NodeId node, Generation generation, Process process, Descriptor socket, base::lines::Holder self);
  Status map_region(const Hello::Region& region, int file);
  Status map_line_table(const Hello::Region& table, int file);
  Status find_own_region();

  PeerRegions regions_;
  std::vector<char*> bases_;              ///< in the order of regions_
  std::vector<std::uint64_t> addresses_;  ///< the peer's own, in the same order; zero in builds without test hooks
  char* own_region_ = nullptr;
  base::lines::Table* lines_ = nullptr;  ///< nullptr if the peer simulates no regions
  const base::lines::Holder self_;
  const Descriptor socket_;
  const std::shared_ptr<const Process> process_;
  std::atomic<Life> life_{Life::kLives};
};

}  // namespace granary::rdma::shm
