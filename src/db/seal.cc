// Implements Schema::seal(): a table that is loaded once never changes afterwards (I31). Sealing has four steps.
//   1. Close the table. Each transaction looks at that when it writes.
//   2. Wait for the transactions that were open by then. After that nobody writes to the table any more, and all of it
//      was written in epochs up to the present E.
//   3. Wait until that E is released. Then no recovery loses a row of the table.
//   4. Note in the manifest that the table is sealed, and only then let readers see it, from the next epoch on. So
//      nobody relies on a seal that the node's next life does not know.

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "src/base/deadline.h"
#include "src/base/test_hooks.h"
#include "src/base/with_memory.h"
#include "src/db/schema.h"

namespace granary::db {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether every transaction has ended that was open when the table was closed. `closed_in` is E as it was read after
/// that. A transaction that begins later finds the table closed: it enters its slot with a later E, or after the fence
/// of idle(), which has shown all slots idle.
bool writers_ended(const epoch::EpochManager& epochs, epoch::Epoch closed_in) {
  return base::injected("seal-before-writers-end") || epochs.idle() || epochs.complete() >= closed_in;
}

bool await_writers(const epoch::EpochManager& epochs, Clock::time_point end) {
  const epoch::Epoch closed_in = epochs.current();
  while (!writers_ended(epochs, closed_in)) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::uint64_t left_us(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<std::uint64_t>(left);
}

}  // namespace

Status Schema::check_seal(const txn::TableCore* table) const {
  if (table == nullptr || !table->belongs_to(shared_))
    return {StatusCode::kInvalidArgument, "seal: the table handle is empty, or of another database"};
  if (table->is_immutable()) return {};
  return {StatusCode::kFailedPrecondition,
          fmt::format("table '{}' cannot be sealed: it was not declared immutable (TableOptions::immutable)",
                      table->name())};
}

Status Schema::seal(txn::TableCore& table, std::uint64_t timeout_us, WaitReleased wait_released) {
  const std::lock_guard sealing(sealing_mutex_);
  if (table.sealed_from() != txn::kNotSealed) return {};
  const Clock::time_point end = base::deadline_in(timeout_us);
  close(table, true);
  if (!await_writers(shared_.epochs, end)) {
    close(table, false);
    return {StatusCode::kUnavailable,
            fmt::format("table '{}' is not sealed: a transaction that may have written to it has stayed open for {} ms",
                        table.name(), timeout_us / 1000)};
  }
  const epoch::Epoch written_in = shared_.epochs.current();
  const Status released = base::injected("seal-before-durable")
                              ? Status()
                              : base::with_memory([&] { return wait_released(written_in, left_us(end)); });
  if (!released.ok()) {
    close(table, false);
    return released;
  }
  if (manifest_ != nullptr) {
    // If this fails or throws, the manifest on the device may have the seal all the same. So the table stays closed,
    // and a later call may seal it.
    const Status noted = manifest_->change([&](recovery::Manifest& next) { next.tables[table.id()].sealed = true; });
    if (!noted.ok()) return noted;
  }
  publish_seal(table, written_in + 1);
  return {};
}

/// Closes the table for writes, or opens it again, under the lock that keeps indexes from being made.
void Schema::close(txn::TableCore& table, bool closed) {
  const std::lock_guard lock(mutex_);
  table.close(closed);
}

void Schema::publish_seal(txn::TableCore& table, epoch::Epoch from) {
  const std::lock_guard lock(mutex_);
  for (txn::TableCore* const index : table.indexes()) index->seal(from);
  table.seal(from);
}

/// Seals from the present E on, since all that was recovered is of earlier epochs.
Status Schema::restore_seals() {
  for (txn::TableCore* const table : tables()) {
    if (!manifest_->table(table->id()).sealed) continue;
    if (options_.salvage) {
      const Status noted =
          manifest_->change([&](recovery::Manifest& next) { next.tables[table->id()].sealed = false; });
      if (!noted.ok()) return noted;
      continue;
    }
    close(*table, true);
    publish_seal(*table, shared_.epochs.current());
  }
  return {};
}

}  // namespace granary::db
