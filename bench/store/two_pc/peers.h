#pragma once
// A worker's side that asks other nodes: a connection to each, made when it is first needed. Waiting for an answer
// gives the processor away.

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
  std::string_view answer = {};  ///< until the node is asked again
};

/// Sums of what was asked.
struct Traffic {
  std::uint64_t messages = 0;              ///< sent
  std::uint64_t round_trips = 0;           ///< several nodes asked at the same time are one
  std::uint64_t waited_ns = 0;             ///< for the answers of those
  std::uint64_t pings = 0, pinged_ns = 0;  ///< the fastest of each connection's
};

class Peers {
 public:
  Peers(const AddressBook& book, std::uint32_t nodes) : book_(book), connections_(nodes) {}
  /// Returns when all that was told has been done.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Asks different nodes at the same time and waits for all their answers. False if one has not answered: it is not
  /// asked again.
  bool ask(std::span<Call> calls);
  /// Says something that is not answered.
  void tell(std::uint32_t node, Kind kind);

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Connection {
    std::optional<Stream> stream;
    bool lost = false;
  };
  /// Nullptr if there is none any more.
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
