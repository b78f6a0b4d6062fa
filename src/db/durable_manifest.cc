#include "src/db/durable_manifest.h"

#include <algorithm>
#include <utility>

namespace granary::db {

recovery::Manifest DurableManifest::copy() const {
  const std::lock_guard lock(mutex_);
  return manifest_;
}

Status DurableManifest::change(FunctionRef<void(recovery::Manifest&)> act) {
  const std::lock_guard lock(mutex_);
  recovery::Manifest next = manifest_;
  act(next);
  if (const Status written = recovery::write_manifest(files_, directory_, next); !written.ok()) return written;
  manifest_ = std::move(next);
  return {};
}

recovery::TableEntry DurableManifest::table(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return manifest_.tables[id];
}

void DurableManifest::note_keys(std::uint32_t table, std::uint64_t keys) {
  const std::lock_guard lock(mutex_);
  std::optional<std::uint64_t>& known = manifest_.tables[table].hash_keys;
  if (known) known = std::max(*known, keys);
}

}  // namespace granary::db
