#pragma once
// Nodes in processes of their own over shared memory: the test's process is the owner, with a real engine; the others
// are its children, which are forked before it has threads and learn from a file where the table is.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "rdma/fiber/rounds.h"
#include "rdma/shm/shm_fabric.h"
#include "src/db/engine.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/key_read.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "tests/cluster/record_access/counted_value.h"

namespace granary::cluster {

inline constexpr rdma::NodeId kShmOwner = 1;
inline constexpr std::uint32_t kShmMaxValue = 256;

/// A file that is there, whole, once it is there.
inline void tell(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}
inline std::string wait_for(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The owner's engine, its table of counters, and its door for other nodes.
class ShmOwner {
 public:
  ShmOwner(const std::string& directory, Options options) {
    options.shared_memory = true;
    options.snapshots = false;
    options.huge_pages = HugePages::kOff;
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    database_ = Database::open(options).value();
    const TableOptions shared{
        .max_value_bytes = kShmMaxValue, .index = IndexKind::kHash, .expected_keys = 64, .shared = true};
    table_ = database_->create_table("counters", shared).value();
    fabric_ = rdma::shm::open_shm_fabric({.node = {.node = kShmOwner}, .run_directory = directory}).value();
    memory::Region& region = database_->engine().region();
    EXPECT_TRUE(fabric_->register_region({.id = 1}, region).ok());
    EXPECT_TRUE(fabric_->listen().ok());
    const kvstore::hash::Table& index = table_.core()->index().hash();
    const auto base = reinterpret_cast<std::uint64_t>(region.base());
    tell(directory + "/table", std::to_string(reinterpret_cast<std::uint64_t>(index.main()) - base) + " " +
                                   std::to_string(index.buckets()) + " " + std::to_string(base));
  }

  Database& database() { return *database_; }
  const Table& table() const { return table_; }
  /// Nobody is in the middle of a change of the index.
  record::SharedRecord& record(const std::string& key) {
    return record::shared_of(*reinterpret_cast<record::Record*>(table_.core()->index().find(key).value));
  }

 private:
  std::unique_ptr<Database> database_;
  Table table_;
  std::unique_ptr<rdma::Fabric> fabric_;  // ends before the region
};

/// Another node, in a child. What it does is done in fibers.
class ShmRemote {
 public:
  ShmRemote(const std::string& directory, rdma::NodeId id)
      : id_(id),
        region_(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()),
        fabric_(rdma::shm::open_shm_fabric({.node = {.node = id}, .run_directory = directory}).value()) {
    (void)fabric_->register_region({.id = 1, .access = rdma::Access::kLocal}, *region_);
    (void)fabric_->listen();
    endpoint_ = fabric_->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    shared_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_);
    std::istringstream told(wait_for(directory + "/table"));
    table_.main = {.node = kShmOwner, .region = 1, .generation = 1};
    told >> table_.main.offset >> table_.buckets >> table_.owner_base;
    table_.max_value_bytes = kShmMaxValue;
    base::always_check(peers_->connect(kShmOwner, 5'000'000).ok(), "the owner answers");
  }

  const kvstore::remote::RemoteTable& table() const { return table_; }
  kvstore::remote::LocationCache& cache() { return cache_; }
  rdma::fiber::Scheduler& scheduler() { return scheduler_; }

  /// One fiber's: buffers, lock words, rounds.
  struct Worker {
    Worker(ShmRemote& its_node, std::uint32_t number)
        : node(its_node),
          words(its_node.id_, 1, number),
          waiter(its_node.scheduler_),
          rounds(its_node.scheduler_, *its_node.shared_, *its_node.peers_, waiter),
          buffer(its_node.region_->base() + std::uint64_t{4096} * (2 * number)),
          write_buffer(its_node.region_->base() + std::uint64_t{4096} * (2 * number + 1)) {}

    ShmRemote& node;
    HolderWords words;
    rdma::fiber::FiberWaiter waiter;
    rdma::fiber::Rounds rounds;
    void* buffer;
    void* write_buffer;
  };

  enum class Added : std::uint8_t { kYes, kMissing, kBusy, kChanged, kTorn, kBroken };
  /// Adds 1 to a counter.
  Added add(Worker& worker, const std::string& key);

 private:
  const rdma::NodeId id_;
  std::unique_ptr<memory::Region> region_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> shared_;
  kvstore::remote::RemoteTable table_;
  kvstore::remote::LocationCache cache_{1024};
  kvstore::remote::LocationCacheCounters counters_;
  const LeaseExpired no_lease_;
  base::ThreadWaiter idle_;
  rdma::fiber::Scheduler scheduler_{[this] { shared_->poll(); }, idle_};
};

inline ShmRemote::Added ShmRemote::add(Worker& worker, const std::string& key) {
  KeyRead read(table_, key, worker.buffer, &cache_, counters_);
  worker.rounds.run(read);
  if (read.outcome() == AccessOutcome::kBroken) return Added::kBroken;
  if (read.read() == nullptr) return read.outcome() == AccessOutcome::kMissing ? Added::kMissing : Added::kBusy;
  if (read.outcome() == AccessOutcome::kBusy) return Added::kBusy;
  std::optional<std::uint64_t> count = 0;
  if (read.outcome() == AccessOutcome::kDone) count = count_of(read.read()->value());
  if (!count) return Added::kTorn;
  const RemoteRecord record = read.record();
  const record::TidWord tid = read.read()->tid();
  XLock lock(record, worker.words.next(), worker.buffer, no_lease_);
  worker.rounds.run(lock);
  if (lock.outcome() == AccessOutcome::kBroken) return Added::kBroken;
  if (lock.outcome() != AccessOutcome::kDone) return Added::kBusy;
  Release release(record, lock.mine(), lock.replaced(), worker.write_buffer);
  const bool same = lock.tid() == tid;
  if (same) {
    const record::TidWord next =
        record::make_tid(record::epoch_of(tid), record::sequence_of(tid) + 1) | record::kLatest;
    release.set_version(next, lock.incarnation(), counted_value(*count + 1, id_));
  }
  worker.rounds.run(release);
  if (release.outcome() == AccessOutcome::kBroken) return Added::kBroken;
  return same ? Added::kYes : Added::kChanged;
}

}  // namespace granary::cluster
