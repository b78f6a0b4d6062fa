#include "rdma/region_table.h"

#include <fmt/format.h>

#include <optional>

namespace granary::rdma {
namespace {

constexpr std::uint64_t kWordMask = 7;

bool shaped_well(const Operation& operation, const Limits& limits) {
  const bool atomic = operation.kind == OperationKind::kCompareSwap || operation.kind == OperationKind::kFetchAdd;
  const std::uint32_t most = atomic ? 8 : limits.operation_bytes;
  const std::uint64_t bits =
      operation.bytes | operation.remote.offset | reinterpret_cast<std::uintptr_t>(operation.local);
  const bool whole_words = (bits & kWordMask) == 0 && operation.bytes != 0 && operation.bytes <= most;
  return whole_words || (operation.of_a_byte() && operation.kind == OperationKind::kWrite);
}

struct Extent {
  std::uint64_t begin = 0, bytes = 0;
  bool holds(std::uint64_t at, std::uint64_t count) const {
    const std::uint64_t offset = at - begin;
    return offset <= bytes && count <= bytes - offset;
  }
};

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
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Extent extent{reinterpret_cast<std::uintptr_t>(entries_[i].base), entries_[i].bytes};
    if (extent.holds(reinterpret_cast<std::uintptr_t>(at), bytes)) return static_cast<int>(i);
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

std::uint64_t PeerRegions::bytes(RegionId id) const {
  const int place = find(id);
  return place < 0 ? 0 : entries_[static_cast<std::size_t>(place)].bytes;
}

/// Checks a chain. An operation mostly uses the regions of the one before, so these are tried first.
PostResult check_chain(std::span<const Operation> chain, const Limits& limits, const LocalRegions& local,
                       const PeerRegions& peer) {
  if (chain.empty() || chain.size() > limits.chain_length) return PostResult::kInvalidChain;
  std::optional<RegionId> region;
  Extent theirs, ours;
  for (const Operation& operation : chain) {
    if (!shaped_well(operation, limits)) return PostResult::kInvalidChain;
    const RemoteAddress& remote = operation.remote;
    if (remote.node != peer.node()) return PostResult::kInvalidRemote;
    if (remote.generation != peer.generation()) return PostResult::kStale;
    if (region != remote.region) {
      region = remote.region;
      theirs = {.begin = 0, .bytes = peer.bytes(remote.region)};
    }
    if (!theirs.holds(remote.offset, operation.bytes)) return PostResult::kInvalidRemote;
    const auto at = reinterpret_cast<std::uintptr_t>(operation.local);
    if (ours.holds(at, operation.bytes)) continue;
    const int place = local.find(operation.local, operation.bytes);
    if (place < 0) return PostResult::kInvalidLocal;
    const LocalRegions::Entry& entry = local[static_cast<std::size_t>(place)];
    ours = {.begin = reinterpret_cast<std::uintptr_t>(entry.base), .bytes = entry.bytes};
  }
  return PostResult::kPosted;
}

}  // namespace granary::rdma
