#pragma once
// Defines the messages of two nodes when they connect. They are the private data of rdma_cm's messages: 56 bytes from
// the caller, 196 from the answerer, 148 in a refusal. Both sides are x86-64, so words are as they are in memory.
//
//   caller                          answerer
//   request, challenge       ->
//                            <-     refusal kChallenge, challenge
//   request, proof           ->
//                            <-     answer: proof, regions
//
// So each side proves that it has the cluster's key. The caller gets a queue pair and keys of regions only after its
// proof, and touches nothing before it has checked the answerer's. Without a cluster key the first request is answered
// at once.
//
// Messages come from other processes (I26).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <granary/status.h>

#include "rdma/authentication.h"
#include "rdma/fabric.h"

namespace granary::rdma::verbs {

inline constexpr std::uint32_t kHelloMagic = 0x4e524747;
/// The version of these messages, and of all one-sided operations after them.
inline constexpr std::uint16_t kHelloVersion = 2;
/// The greatest number of regions that peers may reach. One of them is the fabric's own.
inline constexpr std::size_t kMostRegions = 6;

/// The caller's message. Serial numbers rise with each attempt of an endpoint, so a request that comes late is
/// recognized.
struct Request {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kHelloVersion;
  NodeId node = 0;
  Generation generation = 0;
  std::uint32_t endpoint = 0;
  std::uint64_t layout = 0;
  std::uint32_t serial = 0;
  NodeId target = 0;  ///< the node that it means to call
  std::uint16_t unused = 0;
  std::array<std::uint8_t, 8> challenge = {};  ///< a challenge for the answerer
  Proof proof = {};                            ///< all zeros at first
};
static_assert(sizeof(Request) <= 56);

enum class Refusal : std::uint8_t {
  kNone,
  kVersion,
  kLayout,
  kOtherNode,
  kTooLate,
  kResources,
  kChallenge,
  kKey,
  kCutOff,
  kConnections
};

struct RegionEntry {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
  RegionId id = 0;
  std::uint16_t unused = 0;
};

/// The answerer's message. A refusal has no regions.
struct Answer {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kHelloVersion;
  NodeId node = 0;
  Generation generation = 0;
  Refusal refusal = Refusal::kNone;
  std::uint8_t region_count = 0;
  std::uint16_t welcome = 0;  ///< the word of its own region that is 1 once it knows that the connection is made
  std::uint64_t layout = 0;
  std::array<std::uint8_t, 16> token = {};  ///< kChallenge: one for the caller; kNone: the proof for its challenge
  std::array<RegionEntry, kMostRegions> regions{};
};
static_assert(sizeof(Answer) <= 196);
/// The size of the part of an answer that a refusal sends.
inline constexpr std::size_t kRefusalBytes = sizeof(Answer) - sizeof(Answer::regions);
static_assert(kRefusalBytes <= 148);

/// Reads a request from private data, whose length rdma_cm may have padded. Returns nothing if it is no request of any
/// version.
std::optional<Request> read_request(std::span<const std::byte> data);
/// Reads an answer. Its regions count only if all are there.
std::optional<Answer> read_answer(std::span<const std::byte> data);

/// Returns whether `node` may answer this request, and if not, why.
Refusal judge(const Request& request, const NodeOptions& node);
/// Returns the caller's proof, or the answerer's. The proofs in the messages are not part of it.
Proof proof_of(const ClusterKey& key, const Request& request, const Nonce& challenge);
Proof proof_of(const ClusterKey& key, const Request& request, const Answer& answer);

/// Returns what a refusal means for the caller, which made the request to the node at `place` ("10.0.0.1:18515").
Status explain(const Answer& answer, const Request& request, const std::string& place);

}  // namespace granary::rdma::verbs
