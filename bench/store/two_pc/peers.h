#pragma once
// The worker's side, which asks other nodes. It has a connection to each, made when it is first needed. While a worker
// waits for an answer it sleeps, so that other threads get its processor.

#include <optional>
#include <span>
#include <vector>

#include "bench/store/two_pc/address_book.h"
#include "bench/store/two_pc/stream.h"

namespace granary::bench::two_pc {

/// A request to one node, and its answer.
struct Call {
  std::uint32_t node = 0;
  Kind kind = Kind::kPing;
  std::string body = {};
  std::string_view answer = {};  ///< valid until the node is asked again
};

/// Sums over all requests to other nodes.
struct Traffic {
  std::uint64_t messages = 0;              ///< messages sent, except those of new connections
  std::uint64_t round_trips = 0;           ///< several nodes asked at the same time count once
  std::uint64_t waited_ns = 0;             ///< time of all round trips
  std::uint64_t pings = 0, pinged_ns = 0;  ///< connections made, and the sum of the fastest ping of each
};

class Peers {
 public:
  Peers(const AddressBook& book, std::uint32_t nodes) : book_(book), connections_(nodes) {}
  /// Waits until the other nodes have done what they were told: they serve a connection's messages in turn, so the
  /// answer to a ping shows it.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Asks different nodes at the same time and waits for all their answers. Returns false if one has not answered; that
  /// node counts as lost and is not asked again.
  bool ask(std::span<Call> calls);
  /// Sends a message that is not answered and has no body.
  void tell(std::uint32_t node, Kind kind);

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Connection {
    std::optional<Stream> stream;
    bool lost = false;
  };
  /// Returns the connection to a node, and makes it if there was none yet. Returns nullptr if the node is lost.
  Stream* connected(std::uint32_t node);
  Result<Stream> connect(std::uint32_t node);
  bool ping(Stream& stream);
  bool await(Stream& stream, std::string_view& answer);
  void lose(std::uint32_t node);

  const AddressBook& book_;
  std::vector<Connection> connections_;  // by node
  Traffic traffic_;
};

}  // namespace granary::bench::two_pc
