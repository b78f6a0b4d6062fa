#include "recovery/surviving_rings.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/file.h"
#include "src/base/test_hooks.h"

namespace granary::recovery {

namespace {

/// Checks whose life a ring is of. Rings of another instance lie in another directory. So a ring can be of a later life
/// of this instance only if older files were put back.
Status check_life(const log::RingHeader& header, const Generation& generation, const std::string& path) {
  if (header.stamp == generation.stamp || base::injected("ignore-stamps")) return {};
  return {
      StatusCode::kDamaged,
      fmt::format(
          "the log ring '{0}' is of another life of this database: it has stamp {1}, and the manifest says {2}. If the "
          "database was put back to an earlier state, remove the rings: granary rings --remove={3}",
          path, log::stamp_text(header.stamp), log::stamp_text(generation.stamp), path.substr(0, path.rfind('/')))};
}

/// Checks that a ring has its own name. In the place of another worker's ring, it would make that ring's transactions
/// missing.
Status check_name(const log::RingHeader& header, const std::string& path) {
  const std::string expected = log::ring_name(header.worker);
  if (path.substr(path.rfind('/') + 1) == expected) return {};
  return {StatusCode::kDamaged,
          fmt::format("the log ring '{}' is that of worker {}, expected under the name '{}': it was renamed, or copied "
                      "over another one. Put the files back; without any rings ('granary rings --remove={}') the "
                      "database goes back to what is durable",
                      path, header.worker, expected, path.substr(0, path.rfind('/')))};
}

/// Whether the process that wrote the manifest ran since the system was started. If that cannot be found out, it is an
/// error, because its rings may be there.
Result<bool> is_of_this_boot(const Manifest& manifest) {
  if (manifest.boot.empty()) return false;
  const auto boot = boot_id();
  if (!boot.ok()) return boot.status();
  return manifest.boot == *boot;
}

}  // namespace

bool is_ring_name(std::string_view name) {
  constexpr std::string_view kPrefix = "ring-";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

std::vector<RingEntries> SurvivingRings::entries() const {
  std::vector<RingEntries> entries;
  for (const auto& ring : rings) entries.push_back({log::ring_name(ring->header().worker), ring->pending()});
  return entries;
}

Result<SurvivingRings> find_rings(const Manifest& manifest) {
  SurvivingRings found;
  if (manifest.generations.empty()) return found;
  const auto same_boot = is_of_this_boot(manifest);
  if (!same_boot.ok() && manifest.generations.back().cut) return found;  // all that its rings had is in the log
  if (!same_boot.ok()) return same_boot.status();
  if (!*same_boot) return found;
  const auto names = base::system_files().list(manifest.reliable_directory);  // memory, not files of the database
  const bool missing = names.status().code() == StatusCode::kNotFound;
  if (!names.ok() && !missing) return names.status();
  std::uint64_t wanted = 0;
  for (const std::string& name : missing ? std::vector<std::string>() : *names) {
    if (!is_ring_name(name)) continue;
    auto ring = log::Ring::open(manifest.reliable_directory + "/" + name, manifest.database);
    if (!ring.ok()) return ring.status();
    const Generation& last = manifest.generations.back();
    if ((*ring)->header().generation != last.number) continue;  // of an earlier crash
    const std::string path = manifest.reliable_directory + "/" + name;
    if (const Status same = check_life((*ring)->header(), last, path); !same.ok()) return same;
    if (last.cut) continue;  // it ended in order: all that its rings had is in the log, though they are still there
    if (const Status named = check_name((*ring)->header(), path); !named.ok()) return named;
    wanted = std::max<std::uint64_t>(wanted, (*ring)->header().rings.load(std::memory_order_relaxed));
    found.rings.push_back(std::move(*ring));
  }
  // A process that died before it had a worker left no rings either, and then nothing is lost. The two cases cannot be
  // told apart.
  if (found.rings.empty() && !manifest.generations.back().cut) {
    found.note =
        fmt::format("no log rings are in '{}': recovered to the durable epoch only", manifest.reliable_directory);
  }
  if (found.rings.size() < wanted) {
    found.note = fmt::format("{} of {} log rings are missing in '{}': recovered to the durable epoch only",
                             wanted - found.rings.size(), wanted, manifest.reliable_directory);
    found.rings.clear();
  }
  return found;
}

Result<std::uint64_t> greatest_ring_generation(const Manifest& manifest) {
  if (manifest.reliable_directory.empty() || manifest.boot.empty()) return 0;
  const auto names = base::system_files().list(manifest.reliable_directory);
  if (names.status().code() == StatusCode::kNotFound || (names.ok() && std::ranges::none_of(*names, is_ring_name)))
    return 0;
  const auto same_boot = is_of_this_boot(manifest);
  if (!same_boot.ok()) return same_boot.status();
  if (!*same_boot) return 0;
  if (!names.ok()) return names.status();
  std::uint64_t greatest = 0;
  for (const std::string& name : *names) {
    if (!is_ring_name(name)) continue;
    const auto ring = log::Ring::open(manifest.reliable_directory + "/" + name, manifest.database);
    if (ring.ok()) greatest = std::max(greatest, (*ring)->header().generation);  // find_rings() reports errors
  }
  return greatest;
}

}  // namespace granary::recovery
