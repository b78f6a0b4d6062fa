#include "rdma/region_table.h"

#include <fmt/format.h>

namespace granary::rdma {
namespace {

constexpr std::uint64_t kWordMask = 7;

bool shaped_well(const Operation& operation, const Limits& limits) {
  const bool atomic = operation.kind == OperationKind::kCompareSwap || operation.kind == OperationKind::kFetchAdd;
  const std::uint32_t most = atomic ? 8 : limits.operation_bytes;
  const std::uint64_t bits =
      operation.bytes | operation.remote.offset | reinterpret_cast<std::uintptr_t>(operation.local);
  return (bits & kWordMask) == 0 && operation.bytes != 0 && operation.bytes <= most;
}

}  // namespace

std::string_view name(PostResult result) {
  switch (result) {
    case PostResult::kPosted: return "posted";
    case PostResult::kFull: return "full";
    case PostResult::kBroken: return "broken";
    case PostResult::kStale: return "stale";
    case PostResult::kInvalidChain: return "invalid-chain";
    case PostResult::kInvalidRemote: return "invalid-remote";
    case PostResult::kInvalidLocal: return "invalid-local";
  }
  return "unknown";
}

int LocalRegions::find(const void* at, std::uint64_t bytes) const {
  const auto from = reinterpret_cast<std::uintptr_t>(at);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::uint64_t offset = from - reinterpret_cast<std::uintptr_t>(entries_[i].base);
    if (offset <= entries_[i].bytes && bytes <= entries_[i].bytes - offset) return static_cast<int>(i);
  }
  return -1;
}

Status LocalRegions::add(const RegionSpec& spec, const memory::Region& region) {
  for (const Entry& entry : entries_) {
    if (entry.spec.id == spec.id) {
      return Status(StatusCode::kAlreadyExists,
                    fmt::format("region {} is registered already; take another id", spec.id));
    }
  }
  entries_.push_back({spec, region.base(), region.size()});
  return {};
}

int PeerRegions::find(RegionId id) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

PostResult PeerRegions::check(const RemoteAddress& address, std::uint32_t bytes) const {
  if (address.node != node_) return PostResult::kInvalidRemote;
  if (address.generation != generation_) return PostResult::kStale;
  const int place = find(address.region);
  if (place < 0) return PostResult::kInvalidRemote;
  const std::uint64_t size = entries_[static_cast<std::size_t>(place)].bytes;
  return address.offset <= size && bytes <= size - address.offset ? PostResult::kPosted : PostResult::kInvalidRemote;
}

PostResult check_chain(std::span<const Operation> chain, const Limits& limits, const LocalRegions& local,
                       const PeerRegions& peer) {
  if (chain.empty() || chain.size() > limits.chain_length) return PostResult::kInvalidChain;
  for (const Operation& operation : chain) {
    if (!shaped_well(operation, limits)) return PostResult::kInvalidChain;
    const PostResult remote = peer.check(operation.remote, operation.bytes);
    if (remote != PostResult::kPosted) return remote;
    if (local.find(operation.local, operation.bytes) < 0) return PostResult::kInvalidLocal;
  }
  return PostResult::kPosted;
}

}  // namespace granary::rdma
