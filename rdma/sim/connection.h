#pragma once
// Simulates a queue pair. It decides when each piece of an operation moves, and what still happens after the queue pair
// broke.
//
// An operation begins a packet's delay after it was posted, and after the operations that it has to wait for. Its lines
// move at times of their own after that. A breakage draws a moment, the cut. Pieces that were to move by then still do,
// with the data of the moment of breaking; later pieces never move. So the effects that survive are a beginning of what
// the connection would have done in its order.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/region_table.h"
#include "rdma/sim/sim_network.h"

namespace granary::rdma::sim {

/// The number of bytes that move at once.
inline constexpr std::uint32_t kLine = 64;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  Connection(SimNetwork& network, const NodeOptions& from, SimFabric& target, PeerRegions regions);

  NodeId from() const { return from_; }
  Generation from_life() const { return from_life_; }
  NodeId to() const { return regions_.node(); }
  const PeerRegions& regions() const { return regions_; }
  bool broken() const { return broken_; }
  const std::string& why_broken() const { return why_broken_; }
  /// Whether nothing more will happen on it. At the moment of the cut something still may.
  bool over() const { return broken_ && cut_ < network_.now(); }

  /// Posts a checked chain. `inline_bytes` is as in Limits.
  void post(std::span<const Operation> chain, Signal signal, std::uint64_t tag, std::uint32_t inline_bytes);
  /// Rings a bell of the target, after the WRITEs so far.
  void ring(BellId bell);
  bool has_report() const { return !chains_.empty() && (chains_.front().done || broken_); }
  /// The next chain to report, if it has completed or the connection is broken.
  struct Report {
    std::uint64_t tag;
    std::uint32_t operations;
    Signal signal;
    CompletionStatus status;
  };
  std::optional<Report> take_report();

  /// Breaks the connection for the initiator. A part of the operations under way still happens.
  void break_now(const std::string& why);
  /// Ends the connection at once: none of its operations has an effect any more.
  void sever();
  /// Loses all that goes to the target (or comes back) as the link is down. The connection breaks when that is noticed.
  void lose_requests();
  void lose_replies();
  /// Notes that the target does nothing more for the connection: its life has ended, or it has cut the initiator off.
  void target_gone(const std::string& why);
  /// Notes that the initiator's node has cut the target's life off: the connection is broken, and nothing under way
  /// takes effect.
  void cut_off_here();

 private:
  /// Part of an operation that moves at one moment.
  struct Piece {
    Operation operation;
    std::uint32_t at;  ///< its offset in the operation
    std::uint32_t bytes;
    std::optional<std::array<std::uint64_t, kLine / 8>> data;  ///< the bytes of a WRITE, once they have left the buffer
  };
  struct Chain {
    std::uint64_t tag;
    std::uint32_t operations;
    Signal signal;
    bool done = false;
  };

  std::uint64_t begin_of(const Operation& operation);
  void post_operation(const Operation& operation, bool copy);
  void add_piece(const Operation& operation, std::uint32_t at, std::uint32_t bytes, std::uint64_t time, bool copy);
  void move(Piece& piece);
  void store(std::uint64_t* theirs, Piece& piece);
  void load(const std::uint64_t* theirs, const Piece& piece);
  void atomic(std::uint64_t* theirs, const Piece& piece);
  static void copy_from_buffer(Piece& piece);
  void notice_later(const std::string& why);

  SimNetwork& network_;
  const std::uint32_t number_;
  const NodeId from_;
  const Generation from_life_;
  SimFabric* target_;  ///< nullptr once its life has ended, or one side has cut the other off
  const PeerRegions regions_;
  std::deque<Chain> chains_;  ///< the chains that are not reported
  std::uint64_t posted_chains_ = 0;
  std::uint64_t reported_chains_ = 0;
  std::vector<std::shared_ptr<Piece>> under_way_;
  std::uint64_t last_end_ = 0;         ///< when all operations posted end
  std::uint64_t last_write_end_ = 0;   ///< when the WRITEs end
  std::uint64_t last_completion_ = 0;  ///< when the last chain completes
  std::uint64_t cut_ = kNever;         ///< pieces that would move later do not
  bool replies_lost_ = false;
  bool broken_ = false;
  std::string why_broken_;
};

}  // namespace granary::rdma::sim
