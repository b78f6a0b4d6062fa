#pragma once
// What two nodes tell each other when they connect, in the private data of rdma_cm's messages: 56 bytes there, 196 back, 148 in
// a refusal. x86-64 on both sides, so words are as they are in memory.
//
// With a cluster key, the first request is refused with a challenge; the one that follows has the proof for it, and the answer
// proves the same to who asked, before it touches anything. A queue pair and keys of regions are for who has proved it.

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
/// Of these messages and of all that is done with one-sided operations afterwards.
inline constexpr std::uint16_t kHelloVersion = 2;
/// Regions that peers may reach, the fabric's own included.
inline constexpr std::size_t kMostRegions = 6;

/// From who connects. Serial numbers rise with each attempt of an endpoint, so one that comes late is known.
struct Request {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kHelloVersion;
  NodeId node = 0;
  Generation generation = 0;
  std::uint32_t endpoint = 0;
  std::uint64_t layout = 0;
  std::uint32_t serial = 0;
  NodeId target = 0;  ///< whom it thinks it calls
  std::uint16_t unused = 0;
  std::array<std::uint8_t, 8> challenge = {};  ///< for who answers
  Proof proof = {};                            ///< all zeros at first
};
static_assert(sizeof(Request) <= 56);

enum class Refusal : std::uint8_t { kNone, kVersion, kLayout, kOtherNode, kTooLate, kResources, kChallenge, kKey };

struct RegionEntry {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
  RegionId id = 0;
  std::uint16_t unused = 0;
};

/// From who answers. A refusal has no regions.
struct Answer {
  std::uint32_t magic = kHelloMagic;
  std::uint16_t version = kHelloVersion;
  NodeId node = 0;
  Generation generation = 0;
  Refusal refusal = Refusal::kNone;
  std::uint8_t region_count = 0;
  std::uint16_t welcome = 0;  ///< the word of its own region that will be 1 when it knows that the connection is made
  std::uint64_t layout = 0;
  std::array<std::uint8_t, 16> token = {};  ///< kChallenge: for who asked; kNone: the proof for its challenge
  std::array<RegionEntry, kMostRegions> regions{};
};
static_assert(sizeof(Answer) <= 196);
/// What of an answer a refusal sends.
inline constexpr std::size_t kRefusalBytes = sizeof(Answer) - sizeof(Answer::regions);
static_assert(kRefusalBytes <= 148);

/// The request in this private data, whose length rdma_cm may have padded; nothing if it is none of any version.
std::optional<Request> read_request(std::span<const std::byte> data);
/// The same of an answer; its regions only if all are there.
std::optional<Answer> read_answer(std::span<const std::byte> data);

/// Whether `node` may answer this request.
Refusal judge(const Request& request, const NodeOptions& node);
/// What who asks proves, and what who answers does; a proof in the message is not part of it.
Proof proof_of(const ClusterKey& key, const Request& request, const Nonce& challenge);
Proof proof_of(const ClusterKey& key, const Request& request, const Answer& answer);

/// What a refusal means for who made the request to the node at `place` ("10.0.0.1:18515").
Status explain(const Answer& answer, const Request& request, const std::string& place);

}  // namespace granary::rdma::verbs
