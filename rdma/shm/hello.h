#pragma once
// Defines the messages of two processes before they share memory. Each side sends two packets: a greeting with a fresh
// challenge, and then the greeting once more with its proof for the other's challenge. The answerer proves first that
// it has the cluster's key. It adds its regions, and their memory files as ancillary data, only if the caller has
// proved it, too. Each side passes a pidfd of its process (process.h) with its second packet. An answerer that refuses
// the caller says why instead.
//
//   caller                          answerer
//   greeting, challenge      ->
//                            <-     greeting, challenge, proof
//   greeting, proof, pidfd   ->
//                            <-     greeting, regions, pidfd, files
//   farewell                 ->
//
// The farewell says that the caller has unmapped the memory again.
//
// Packets come from other processes (I26): anything may be in them, and a packet that is not understood is an error.

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <granary/status.h>

#include "rdma/authentication.h"
#include "rdma/fabric.h"
#include "rdma/shm/descriptor.h"

namespace granary::rdma::shm {

/// The version of these messages, and of all one-sided operations after them.
inline constexpr std::uint32_t kHelloVersion = 4;
/// The greatest number of a node's regions that peers can reach. One of them is the fabric's own.
inline constexpr std::size_t kMostRegions = 33;

enum class HelloKind : std::uint16_t {
  kGreeting,
  kCutOff,     ///< refuses, as the answerer has cut off the caller's life
  kNoProcess,  ///< refuses, as the caller has passed no pidfd of its process
  kFarewell,
};

struct Hello {
  std::array<char, 8> magic = {'g', 'r', 'a', 'n', 's', 'h', 'm', '\n'};
  std::uint32_t version = kHelloVersion;
  Generation generation = 0;
  std::uint64_t layout = 0;
  NodeId node = 0;
  std::uint16_t region_count = 0;
  HelloKind kind = HelloKind::kGreeting;
  std::uint16_t passes_process = 0;  ///< 1 if the first file is a pidfd of the sender
  Nonce challenge = {};
  Proof proof = {};
  struct Region {
    std::uint64_t bytes = 0;
    RegionId id = 0;
    /// The address of the region at the sender, for watched_memory.h. It is zero in builds without test hooks.
    std::array<std::uint16_t, 3> address = {};

    static constexpr unsigned kAddressShift = 16;  ///< regions begin at multiples of 64 KiB
    static std::array<std::uint16_t, 3> pack_address(const char* base);
    std::uint64_t unpack_address() const;
  };
  std::array<Region, kMostRegions> regions = {};
};
static_assert(std::is_trivially_copyable_v<Hello> && sizeof(Hello) == 64 + 16 * kMostRegions);

struct ReceivedHello {
  Hello hello;
  Descriptor process;             ///< the pidfd, if the packet passes one
  std::vector<Descriptor> files;  ///< one for each region, in the same order
};

/// Sends one packet. `files` go with it, the pidfd first.
Status send_hello(int socket, const Hello& hello, const std::vector<int>& files);
/// Tells a node that this process maps nothing of it any more, so that the node need not end the process to cut its
/// life off. A node that has ended, or was not asked for its memory, does not need the farewell.
void say_farewell(int socket);
/// Takes the packet that has arrived. Returns kUnavailable if the other side has hung up; kFailedPrecondition if the
/// packet is no hello.
Result<ReceivedHello> receive_hello(int socket);
/// Returns OK if these two can share memory; otherwise kFailedPrecondition with what differs, both values, and the
/// mend.
Status check_compatible(const Hello& mine, const Hello& theirs);

/// Returns a side's proof of the two greetings. The proofs in the greetings are not part of it.
Proof proof_of(const ClusterKey& key, Side side, const Hello& caller, const Hello& answerer);

}  // namespace granary::rdma::shm
