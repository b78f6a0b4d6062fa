#pragma once
// Lists the fabrics that a cluster can run over, and what each of them can do and needs. Code asks for a trait and not
// for a provider. So a further provider is an enumerator, a row here, and an opener in src/node/node_fabric.cc. If one
// of them is missing, the program does not compile.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace granary::cluster_config {

enum class Provider : std::uint8_t { kShm, kVerbs, kLast = kVerbs };

struct ProviderTraits {
  Provider provider = Provider::kShm;
  const char* name = "";     ///< in cluster files, flags and reports; that of its rdma::Fabric, too
  const char* summary = "";  ///< how nodes reach each other, in a few words
  bool one_host = false;     ///< whether it reaches only processes of its own host
  bool addresses = false;  ///< each node listens at an IP address, so `address` is required and `host` has to be found
  bool devices = false;    ///< whether each host needs an RDMA device, and memory is pinned
  bool needs_key = false;  ///< whether others than the nodes' user may reach a node, so `key_file` is required
  bool loopback = false;   ///< whether a node can connect to itself
  bool by_processor = false;  ///< whether the asking node's processor does the operations, like plain copies
};

/// The rows, in the order of the enumerators.
inline constexpr std::array<ProviderTraits, static_cast<std::size_t>(Provider::kLast) + 1> kProviders{{
    {.provider = Provider::kShm,
     .name = "shm",
     .summary = "shared memory of one host",
     .one_host = true,
     .by_processor = true},
    {.provider = Provider::kVerbs,
     .name = "verbs",
     .summary = "RDMA devices",
     .addresses = true,
     .devices = true,
     .needs_key = true,
     .loopback = true},
}};

constexpr const ProviderTraits& traits(Provider provider) { return kProviders[static_cast<std::size_t>(provider)]; }

/// Returns the provider's word in the file.
constexpr const char* name(Provider provider) { return traits(provider).name; }

/// Returns the provider with this name, or nullptr if there is none.
constexpr const ProviderTraits* find_provider(std::string_view name) {
  const auto* const found = std::find_if(kProviders.begin(), kProviders.end(),
                                         [name](const ProviderTraits& row) { return row.name == name; });
  return found == kProviders.end() ? nullptr : found;
}

/// Whether the provider's row stands at its enumerator, and is found by its name.
constexpr bool has_row(Provider provider) {
  return traits(provider).provider == provider && find_provider(name(provider)) == &traits(provider);
}
static_assert(std::all_of(kProviders.begin(), kProviders.end(), [](const ProviderTraits& row) {
  return has_row(static_cast<Provider>(&row - kProviders.data())) && *row.summary != '\0';
}));

}  // namespace granary::cluster_config
