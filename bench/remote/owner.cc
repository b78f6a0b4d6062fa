#include "bench/remote/owner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>

#include "kvstore/hash/table.h"
#include "rdma/shm/shm_fabric.h"
#include "src/record/shared_change.h"

namespace granary::bench::remote {
namespace {

using kvstore::hash::Bucket;
using kvstore::remote::RemoteTable;

constexpr std::uint64_t kExtent = memory::SlabPool::kExtentBytes;
constexpr std::uint64_t whole_extents(std::uint64_t bytes) { return (bytes + kExtent - 1) / kExtent * kExtent; }

/// A table with records, in one region.
class Owned {
 public:
  explicit Owned(const Data& data)
      : data_(data),
        buckets_(kvstore::hash::Table::buckets_for(data.keys)),
        record_bytes_(record::shared_block_bytes(sizeof(std::uint64_t), data.value_bytes)) {}

  Status make() {
    const std::uint64_t header = whole_extents(buckets_ * sizeof(Bucket));
    const std::uint64_t records = whole_extents(data_.keys * record_bytes_);
    const std::uint64_t all = 2 * header + records + 16 * kExtent;  // indirect headers: rarely more than main ones
    auto region = memory::Region::map({.reserve_bytes = all, .prefault_bytes = header + records, .shared = true});
    if (!region.ok()) return region.status();
    region_ = std::move(region).value();
    main_ = region_->take(header);
    fill(region_->take(records));
    auto fabric = rdma::shm::open_shm_fabric({.node = {.node = kOwner}, .run_directory = data_.run_directory});
    if (!fabric.ok()) return fabric.status();
    fabric_ = std::move(fabric).value();
    if (Status status = fabric_->register_region({.id = 1}, *region_); !status.ok()) return status;
    return fabric_->listen();
  }
  RemoteTable table() const {
    return {.main = {.node = kOwner,
                     .region = 1,
                     .generation = 1,
                     .offset = static_cast<std::uint64_t>(main_ - region_->base())},
            .buckets = buckets_,
            .owner_base = reinterpret_cast<std::uint64_t>(region_->base()),
            .max_value_bytes = data_.value_bytes};
  }

 private:
  void fill(char* records) {
    memory::SlabPool slabs(*region_, {});
    epoch::EpochManager epochs({});
    memory::SlabCache cache(slabs);
    kvstore::NodeMemory memory(cache, epochs);
    kvstore::hash::Table table({reinterpret_cast<Bucket*>(main_), buckets_}, region_->base());
    const std::string value(data_.value_bytes, 'v');
    constexpr record::TidWord kTid = record::make_tid(1, 1) | record::kLatest;
    for (std::uint64_t number = 0; number < data_.keys; ++number) {
      const std::string_view key(reinterpret_cast<const char*>(&number), sizeof number);
      auto& shared = *reinterpret_cast<record::SharedRecord*>(records + number * record_bytes_);
      record::Record& made = record::make_unborn(shared, key);
      base::copy_to_shared(record::value_words(shared, key.size()), value.data(), value.size());
      record::store_tail(shared, kTid, value.size(), record::checksum_of_content(key, value));
      made.store_tid(kTid);
      (void)table.insert_if_absent(key, reinterpret_cast<kvstore::hash::Value>(&made), memory);
    }
  }

  const Data& data_;
  const std::uint64_t buckets_;
  const std::uint64_t record_bytes_;
  std::unique_ptr<memory::Region> region_;
  char* main_ = nullptr;
  std::unique_ptr<rdma::Fabric> fabric_;
};

static_assert(std::is_trivially_copyable_v<RemoteTable>);

/// In the child: says where the table is, or (as anything else) what is wrong, and stays until `hold` is closed.
[[noreturn]] void be_owner(const Data& data, int answer, int hold) {
  Owned owned(data);
  const Status status = owned.make();
  const RemoteTable table = status.ok() ? owned.table() : RemoteTable{};
  const void* const said = status.ok() ? static_cast<const void*>(&table) : status.message().data();
  const std::size_t bytes = status.ok() ? sizeof table : std::min(status.message().size(), sizeof table - 1);
  char byte = 0;
  if (::write(answer, said, bytes) == static_cast<ssize_t>(bytes)) (void)!::read(hold, &byte, 1);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<OwnerProcess>> OwnerProcess::start(const Data& data) {
  int answer[2];
  int hold[2];
  if (::pipe2(answer, O_CLOEXEC) != 0 || ::pipe2(hold, O_CLOEXEC) != 0) {
    return Status(StatusCode::kUnavailable, "no pipe for the owner's process: too many open files");
  }
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(hold[1]);
    be_owner(data, answer[1], hold[0]);
  }
  ::close(answer[1]);
  ::close(hold[0]);
  if (process < 0) return Status(StatusCode::kUnavailable, "cannot start the owner's process");
  std::unique_ptr<OwnerProcess> owner(new OwnerProcess);
  owner->process_ = process;
  owner->hold_ = hold[1];
  char said[sizeof(RemoteTable)] = {};
  const ssize_t bytes = ::read(answer[0], said, sizeof said);
  ::close(answer[0]);
  if (bytes != sizeof said) {
    return Status(StatusCode::kUnavailable,
                  "the owner's process: " + std::string(said, bytes < 0 ? 0 : static_cast<std::size_t>(bytes)));
  }
  std::memcpy(&owner->table_, said, sizeof said);
  return owner;
}

OwnerProcess::~OwnerProcess() {
  ::close(hold_);
  (void)::waitpid(process_, nullptr, 0);
}

}  // namespace granary::bench::remote
