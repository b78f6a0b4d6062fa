#include <string_view>

#include "bench/hash/counted_table.h"
#include "kvstore/hash/table.h"

namespace granary::bench::hash {
namespace {

using kvstore::hash::Bucket;
using kvstore::hash::InsertResult;
using kvstore::hash::kSlots;
using kvstore::hash::Table;

class Cluster final : public CountedTable {
 public:
  Cluster(std::uint64_t slots, std::uint64_t seed)
      : buckets_((slots + kSlots - 1) / kSlots),
        salt_(seed * 0x9E3779B97F4A7C15ull),
        region_(memory::Region::map({.reserve_bytes = 2 * header_bytes() + 16 * kExtent}).value()),
        slabs_(*region_, {}),
        epochs_({}),
        cache_(slabs_),
        memory_(cache_, epochs_),
        table_({reinterpret_cast<Bucket*>(region_->take(header_bytes())), buckets_}, region_->base()) {}

  /// Inserts a key. There are no records, so any address will do for them.
  bool insert(std::uint64_t key) override {
    const auto value = reinterpret_cast<kvstore::hash::Value>(region_->base());
    const std::uint64_t word = key ^ salt_;
    return table_.insert_if_absent(bytes(word), value, memory_).what == InsertResult::What::kInserted;
  }
  unsigned reads(std::uint64_t key) const override {
    const std::uint64_t word = key ^ salt_;
    return table_.reads_to_find(bytes(word));
  }

 private:
  static constexpr std::uint64_t kExtent = memory::SlabPool::kExtentBytes;
  static std::string_view bytes(const std::uint64_t& word) {
    return {reinterpret_cast<const char*>(&word), sizeof word};
  }
  std::uint64_t header_bytes() const { return (buckets_ * sizeof(Bucket) + kExtent - 1) / kExtent * kExtent; }

  const std::uint64_t buckets_;
  const std::uint64_t salt_;
  std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  memory::SlabCache cache_;
  kvstore::NodeMemory memory_;
  Table table_;
};

}  // namespace

std::unique_ptr<CountedTable> make_cluster(std::uint64_t slots, std::uint64_t seed) {
  return std::make_unique<Cluster>(slots, seed);
}

}  // namespace granary::bench::hash
