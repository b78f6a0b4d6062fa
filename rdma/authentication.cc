#include "rdma/authentication.h"

#include <sodium.h>

#include <algorithm>

#include "src/base/check.h"

namespace granary::rdma {
namespace {

constexpr std::string_view kPurpose = "granary fabric";

/// Prepares libsodium. Any thread may call it, any number of times.
void prepare() { base::always_check(sodium_init() >= 0, "libsodium has no source of random bytes"); }

void add(crypto_auth_hmacsha256_state& state, std::span<const std::byte> bytes) {
  // The size comes first, so that different lists of messages never make the same text.
  const std::uint64_t size = bytes.size();
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace

ClusterKey key_of(std::string_view secret) {
  ClusterKey key{};
  static_assert(sizeof key == crypto_hash_sha256_BYTES);
  if (!secret.empty())
    crypto_hash_sha256(key.data(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  return key;
}

void make_fresh(std::span<std::uint8_t> nonce) {
  prepare();
  randombytes_buf(nonce.data(), nonce.size());
}

Proof prove(const ClusterKey& key, Side side, std::initializer_list<std::span<const std::byte>> said) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  add(state, std::as_bytes(std::span(kPurpose)));
  add(state, std::as_bytes(std::span(&side, 1)));
  for (const std::span<const std::byte> message : said) add(state, message);
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> hash{};
  crypto_auth_hmacsha256_final(&state, hash.data());
  Proof proof{};
  std::copy_n(hash.begin(), proof.size(), proof.begin());
  return proof;
}

bool equal(const Proof& one, const Proof& other) { return sodium_memcmp(one.data(), other.data(), one.size()) == 0; }

}  // namespace granary::rdma
