#pragma once
// How two nodes that connect prove to each other that they have the cluster's key, without telling it: each answers the
// other's fresh challenge with a keyed hash (HMAC-SHA256) of all that both have said. An answer is of use once, for
// this connection and in this direction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "rdma/cluster_key.h"

namespace granary::rdma {

/// Random, never twice; for challenges.
using Nonce = std::array<std::uint8_t, 16>;
using Proof = std::array<std::uint8_t, 16>;

/// The side that proves. A proof of one side is none for the other.
enum class Side : std::uint8_t { kCaller, kAnswerer };

/// The key that a secret stands for; that of "" is no key.
ClusterKey key_of(std::string_view secret);

/// Fills it with random bytes.
void make_fresh(std::span<std::uint8_t> nonce);

/// The proof that whoever has the key can give of what was said, both sides' challenges being among it.
Proof prove(const ClusterKey& key, Side side, std::initializer_list<std::span<const std::byte>> said);
/// In a time that does not tell where they differ.
bool equal(const Proof& one, const Proof& other);

/// The bytes of a message.
template <typename Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace granary::rdma
