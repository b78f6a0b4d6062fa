#include "src/db/workers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/log/log.h"

namespace granary::db {

Result<txn::WorkerCore*> Workers::take() {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    txn::WorkerCore* const worker = idle_.back();
    idle_.pop_back();
    return worker;
  }
  if (all_.size() >= most_) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("all {} workers are registered (Options::max_workers, or what Options::protocol allows)", most_));
  }
  // Room in the lists comes first. Nothing may fail once the ring's file is there, as the file would keep the worker's
  // number taken, and give_back() may never fail.
  all_.reserve(all_.size() + 1);
  idle_.reserve(all_.size() + 1);
  auto worker = std::make_unique<txn::WorkerCore>(static_cast<std::uint32_t>(all_.size()), shared_);
  if (const Status connected = connect_ring(*worker); !connected.ok()) return connected;
  all_.push_back(std::move(worker));
  return all_.back().get();
}

void Workers::give_back(txn::WorkerCore* worker) {
  worker->abort_all();
  const std::lock_guard lock(mutex_);  // keeps MemoryRelief from borrowing the worker meanwhile
  worker->lending().allow(false);
  worker->pass_on_memory();
  worker->detach();
  idle_.push_back(worker);  // take() has reserved room
}

Status Workers::check_none_taken() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> held;
  for (const auto& worker : all_) {
    if (std::find(idle_.begin(), idle_.end(), worker.get()) == idle_.end()) held.push_back(worker->id());
  }
  if (held.empty()) return {};
  return {StatusCode::kFailedPrecondition,
          fmt::format(
              "{} {} {} still registered; a database's workers have to be destroyed before it is closed or destroyed",
              held.size() == 1 ? "worker" : "workers", fmt::join(held, ", "), held.size() == 1 ? "is" : "are")};
}

Status Workers::connect_rings() {
  const std::lock_guard lock(mutex_);
  for (txn::WorkerCore* const worker : idle_) {
    if (const Status connected = connect_ring(*worker); !connected.ok()) return connected;
  }
  return {};
}

Status Workers::connect_ring(txn::WorkerCore& worker) const {
  if (shared_.log == nullptr) return {};
  auto ring = shared_.log->add_worker(worker.id());
  if (!ring.ok()) return ring.status();
  worker.state().ring = *ring;
  return {};
}

void Workers::for_each(FunctionRef<void(txn::WorkerCore&)> act) const {
  const std::lock_guard lock(mutex_);
  for (const auto& worker : all_) act(*worker);
}

bool Workers::try_for_each(FunctionRef<void(txn::WorkerCore&)> act) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& worker : all_) act(*worker);
  return true;
}

bool Workers::try_for_each_idle(FunctionRef<void(txn::WorkerCore&)> act) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (txn::WorkerCore* const worker : idle_) act(*worker);
  return true;
}

}  // namespace granary::db
