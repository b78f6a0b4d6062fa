#pragma once
// The bare key-value store that Silo's evaluation compares with (5.2): the index, ordered or hash, straight over
// records in the same slabs, without transactions. Each operation is atomic by itself: reads copy a stable version,
// writers hold the record's lock bit, and every operation lies in an entered epoch slot, so that memory may be
// reclaimed.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

#include "bench/harness/workload.h"
#include "kvstore/common/node_memory.h"
#include "src/base/waiter.h"
#include "src/cc/index.h"
#include "src/epoch/epoch.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"
#include "src/record/record.h"
#include "src/record/stable_read.h"

namespace granary::bench::kv {

class Store;

/// One thread's access to a store; used by one thread at a time.
class Access {
 public:
  explicit Access(Store& store);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  /// Copies the value; returns false if there is no such key or the value does not fit.
  bool read(std::string_view key, std::span<char> buffer);
  /// Copies the value to `buffer`, lets `change(buffer)` alter it, and writes it back, as one atomic step.
  template <typename Change>
  bool modify(std::string_view key, std::span<char> buffer, Change&& change);
  /// Overwrites a present key with a value of the same size.
  bool update(std::string_view key, std::string_view value) {
    return modify(key, {}, [&](std::span<char>) { return value; });
  }
  /// Returns the record of a key, for callers that keep data of their own in it; nullptr if there is none. Records are
  /// never removed.
  record::Record* locate(std::string_view key) { return locate(index_, key); }
  /// Inserts a key. Returns false if the key is there or memory has run out.
  bool insert(std::string_view key, std::string_view value) { return insert(index_, key, value).second; }
  /// Visits at most `limit` keys in order, from the first one not below `from`. Only for an ordered index. `visit` gets
  /// key and value and returns false to stop.
  template <typename Visit>
  std::size_t scan(std::string_view from, std::size_t limit, std::span<char> buffer, Visit&& visit);

  // The functions that follow work on an index which Store::add_index() has made.

  record::Record* locate(const cc::Index& index, std::string_view key) {
    const Entered entered(*this);
    return reinterpret_cast<record::Record*>(index.find(key).value);
  }
  /// Locates each key, and prefetches the first bytes of the records' values. `found` is as long as `keys`.
  void locate_many(const cc::Index& index, std::span<const std::string_view> keys, std::span<record::Record*> found,
                   std::size_t prefetched_bytes);
  /// Returns the key's record, which may have been there before, and whether it is new; nullptr if memory has run out.
  std::pair<record::Record*, bool> insert(cc::Index& index, std::string_view key, std::string_view value);
  /// Visits the records of a range in order. `visit` gets key and record and returns false to stop. It must not use
  /// this access. Only for an ordered index.
  template <typename Visit>
  void visit(const cc::Index& index, kvstore::ordered::Range range, kvstore::ordered::Direction direction,
             Visit&& visit);

  /// Frees the nodes that no reader can reach any more.
  void collect() { nodes_.reclaim(64); }

  std::int64_t bytes_in_use(memory::SlabKind kind) const { return slabs_.bytes_in_use(kind); }
  std::int64_t index_bytes_in_use() const { return slabs_.index_bytes_in_use(); }

 private:
  /// An epoch slot entered for the length of one operation.
  class Entered {
   public:
    explicit Entered(Access& access) : access_(access) { access_.epochs_.enter(*access_.slot_); }
    ~Entered() { access_.epochs_.leave(*access_.slot_); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Access& access_;
  };

  record::Record* find(std::string_view key) const { return reinterpret_cast<record::Record*>(index_.find(key).value); }
  record::TidWord lock(record::Record& record);
  /// Makes a stable copy of the value, however long writers hold the record, and returns its size.
  std::size_t copy(const record::Record& record, std::span<char> buffer);

  cc::Index& index_;
  epoch::EpochManager& epochs_;
  epoch::Slot* const slot_;
  memory::SlabCache slabs_;
  kvstore::NodeMemory nodes_;
  base::ThreadWaiter waiter_;
};

class Store {
 public:
  /// Opens a store with an ordered index or, if `hash_keys` is given, with a hash index for so many keys.
  static Result<std::unique_ptr<Store>> open(const Options& options, std::optional<std::uint64_t> hash_keys = {});
  ~Store();

  /// Returns an access that no thread uses at present. Thread-safe, and so is give_access().
  Access* take_access();
  void give_access(Access* access);
  StoreFigures figures() const;

  cc::Index& index() { return *index_; }
  /// Makes one more index, for callers that keep several tables. It lives as long as the store. Thread-safe.
  Result<cc::Index*> add_index(std::optional<std::uint64_t> hash_keys);

 private:
  friend class Access;
  Store(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes);
  Result<std::unique_ptr<cc::Index>> make_index(std::optional<std::uint64_t> hash_keys);
  void advance_epochs(std::uint32_t epoch_ms);

  std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  std::unique_ptr<memory::SlabCache> root_slabs_;
  std::unique_ptr<kvstore::NodeMemory> root_nodes_;
  std::unique_ptr<cc::Index> index_;

  mutable std::mutex mutex_;  // guards what follows, up to stopping_
  std::uint64_t main_header_bytes_ = 0;
  std::vector<std::unique_ptr<cc::Index>> more_indexes_;
  std::vector<std::unique_ptr<Access>> accesses_;
  std::vector<Access*> idle_;

  std::atomic<bool> stopping_{false};  // written by the destructor, read by the epoch thread; relaxed
  std::thread epoch_thread_;
};

template <typename Change>
bool Access::modify(std::string_view key, std::span<char> buffer, Change&& change) {
  const Entered entered(*this);
  record::Record* const found = find(key);
  if (found == nullptr) return false;
  const record::TidWord word = lock(*found);
  const std::size_t size = found->size();
  if (!buffer.empty())
    base::copy_from_shared(buffer.data(), found->value_words(), size < buffer.size() ? size : buffer.size());
  const std::string_view changed = change(buffer);
  const bool fits = changed.size() == size;
  if (fits) base::copy_to_shared(found->value_words(), changed.data(), changed.size());
  found->store_tid(fits ? word + record::make_tid(0, 1) : word);
  return fits;
}

template <typename Visit>
std::size_t Access::scan(std::string_view from, std::size_t limit, std::span<char> buffer, Visit&& visit) {
  struct Visitor final : kvstore::ordered::ScanVisitor {
    Visitor(Access& a, std::span<char> b, std::size_t l, Visit& v) : access(a), buffer(b), left(l), visit(v) {}
    void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
    bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
      const std::size_t size = access.copy(*reinterpret_cast<const record::Record*>(value), buffer);
      --left;
      return visit(key, std::string_view(buffer.data(), size)) && left != 0;
    }
    Access& access;
    std::span<char> buffer;
    std::size_t left;
    Visit& visit;
  };
  if (limit == 0) return 0;
  const Entered entered(*this);
  Visitor visitor(*this, buffer, limit, visit);
  index_.tree().scan({.from = from, .to = {}}, kvstore::ordered::Direction::kForward, visitor);
  return limit - visitor.left;
}

template <typename Visit>
void Access::visit(const cc::Index& index, kvstore::ordered::Range range, kvstore::ordered::Direction direction,
                   Visit&& visit) {
  struct Visitor final : kvstore::ordered::ScanVisitor {
    explicit Visitor(Visit& v) : visit(v) {}
    void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
    bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
      return visit(key, *reinterpret_cast<record::Record*>(value));
    }
    Visit& visit;
  };
  const Entered entered(*this);
  Visitor visitor(visit);
  index.tree().scan(range, direction, visitor);
}

}  // namespace granary::bench::kv
