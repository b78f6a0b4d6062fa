#include "src/db/durable_manifest.h"

#include <algorithm>
#include <type_traits>
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
  in_doubt_ = true;  // until the write has succeeded: it may fail, or throw, when the file has its name already
  if (const Status written = recovery::write_manifest(files_, directory_, next); !written.ok()) return written;
  static_assert(std::is_nothrow_move_assignable_v<recovery::Manifest>, "memory follows the device without fail");
  manifest_ = std::move(next);
  in_doubt_ = false;
  return {};
}

Status DurableManifest::write_back() {
  const std::lock_guard lock(mutex_);
  if (!in_doubt_) return {};
  const Status written = recovery::write_manifest(files_, directory_, manifest_);
  in_doubt_ = !written.ok();
  return written;
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
