#pragma once
// Lets two nodes that connect prove to each other that they have the cluster's key, without telling it. Each answers
// the other's fresh challenge with a keyed hash (HMAC-SHA256) of everything that both have said. An answer is good
// once, for this connection and in this direction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "rdma/cluster_key.h"

namespace granary::rdma {

/// A challenge: random bytes that are never used twice.
using Nonce = std::array<std::uint8_t, 16>;
using Proof = std::array<std::uint8_t, 16>;

/// The side that proves. The proof of one side is of no use for the other.
enum class Side : std::uint8_t { kCaller, kAnswerer };

/// Returns the key that a secret stands for. For "" that is no key.
ClusterKey key_of(std::string_view secret);

/// Fills the nonce with random bytes.
void make_fresh(std::span<std::uint8_t> nonce);

/// Returns the proof that the key gives of everything that was said, including the challenges of both sides.
Proof prove(const ClusterKey& key, Side side, std::initializer_list<std::span<const std::byte>> said);
/// Whether the proofs are equal. The time that it takes does not tell where they differ.
bool equal(const Proof& one, const Proof& other);

/// Returns the bytes of a message.
template <typename Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace granary::rdma
