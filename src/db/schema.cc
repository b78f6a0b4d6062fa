#include "src/db/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "src/base/test_hooks.h"
#include "src/base/with_memory.h"
#include "src/db/options_check.h"
#include "src/db/table_difference.h"
#include "src/epoch/entered.h"
#include "src/txn/index_key.h"

namespace granary::db {
namespace {

/// A hash table that is loaded frugally gets a main header for so many times fewer keys than are expected, which is one
/// for 96 keys a bucket. The longer the chains are, the less memory the index takes, down to 24 bytes a key. With these
/// it takes 25, so all data that a database with any main header could hold can be loaded: the part of the reserve that
/// loading may use is 2.7 % of the limit, and a record and its entry take at least 64 bytes.
constexpr std::uint64_t kFrugalShare = 16;

recovery::TableEntry entry_to_load(const recovery::TableEntry& entry, bool frugal) {
  recovery::TableEntry made = entry;
  if (frugal && entry.hash_keys) made.hash_keys = std::max<std::uint64_t>(1, *entry.hash_keys / kFrugalShare);
  return made;
}

/// Finds out whether a tree has a key, and stops the scan at the first one.
class AnyKey final : public kvstore::ordered::ScanVisitor {
 public:
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view, kvstore::ordered::Value) override {
    found_ = true;
    return false;
  }
  bool found() const { return found_; }

 private:
  bool found_ = false;
};

bool holds_keys(cc::Index& index, epoch::EpochManager& epochs) {
  if (!index.ordered()) return index.hash().statistics().keys != 0;
  const auto release = [&epochs](epoch::Slot* slot) { epochs.release_slot(slot); };
  const std::unique_ptr<epoch::Slot, decltype(release)> slot(epochs.acquire_slot(), release);
  if (slot == nullptr) return true;
  const epoch::Entered entered(epochs, *slot);
  AnyKey any;
  index.tree().scan({}, kvstore::ordered::Direction::kForward, any);
  return any.found();
}

}  // namespace

Schema::Schema(const Options& options, cc::DatabaseState& shared, const memory::Region& region,
               DurableManifest* manifest)
    : options_(options),
      shared_(shared),
      region_(region),
      manifest_(manifest),
      slabs_(shared.slabs),
      nodes_(slabs_, shared.epochs) {}

Status Schema::restore(bool frugal) {
  const std::lock_guard lock(mutex_);
  for (const recovery::TableEntry& entry : manifest_->now().tables) {
    auto table = add(entry_to_load(entry, frugal));
    if (!table.ok()) return table.status();
    undeclared_.insert(entry.name);
    if (!entry.base) continue;
    txn::TableCore* const base = tables_[*entry.base].get();
    (*table)->make_index_of(base, entry.index);
    base->add_index(*table);
  }
  return {};
}

Status Schema::check_new(const recovery::TableEntry& entry) const {
  const std::string& name = entry.name;
  if (name.empty() || name.size() > kMaxNameBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("a table's or index's name has {} bytes; expected 1 to {}", name.size(), kMaxNameBytes));
  }
  if (tables_by_name_.contains(name)) {
    return Status(StatusCode::kAlreadyExists, fmt::format("there is already a table or index named '{}'", name));
  }
  if (tables_.size() >= kMaxTables) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("there are already {} tables and indexes, the most allowed", kMaxTables));
  }
  return {};
}

/// Makes a table or index in memory. After an error or an exception nothing of it is there.
Result<txn::TableCore*> Schema::add(const recovery::TableEntry& entry) {
  if (const Status good = check_new(entry); !good.ok()) return good;
  tables_.reserve(tables_.size() + 1);  // so that nothing can fail any more once the name is known
  std::span<kvstore::hash::Bucket> main_header;
  const auto free_header = [this](const std::span<kvstore::hash::Bucket>* header) {
    if (!header->empty()) free_main_header(*header);
  };
  std::unique_ptr<const std::span<kvstore::hash::Bucket>, decltype(free_header)> unused(&main_header, free_header);
  if (entry.hash_keys) {
    main_header = make_main_header(*entry.hash_keys);
    if (main_header.empty()) return no_room_for_header(entry.name, *entry.hash_keys);
  }
  auto table = std::make_unique<txn::TableCore>(static_cast<std::uint32_t>(tables_.size()), entry.name,
                                                entry.max_value_bytes, shared_, nodes_, main_header, region_.base());
  if (!table->index().ok()) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("table '{}': the memory limit of {} bytes is reached; delete data, or raise "
                              "memory_limit_bytes",
                              entry.name, slabs_.pool().limit_bytes()));
  }
  if (entry.shared) table->make_shared();
  if (entry.immutable) table->make_immutable();
  tables_by_name_.emplace(entry.name, table.get());
  tables_.push_back(std::move(table));
  (void)unused.release();  // forget_last() frees it
  return tables_.back().get();
}

/// Makes a new table or index durable, or takes the recovered one if it is the same. A new one stays only if that
/// succeeds: the ids of tables are their places in the manifest, so memory and manifest must have the same tables.
Result<txn::TableCore*> Schema::declare(const recovery::TableEntry& entry) {
  if (const auto recovered = undeclared_.find(entry.name); recovered != undeclared_.end()) {
    txn::TableCore* const table = tables_by_name_.find(entry.name)->second;
    const recovery::TableEntry known = manifest_->table(table->id());
    if (const std::string other = difference(known, entry); !other.empty()) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("'{}' was recovered from '{}' with another definition: {}", entry.name,
                                options_.directory, other));
    }
    undeclared_.erase(recovered);
    return table;
  }
  auto table = add(entry);
  if (!table.ok() || manifest_ == nullptr) return table;
  Status saved;
  try {
    recovery::TableEntry added = entry;
    added.id = (*table)->id();
    saved = manifest_->change([&added](recovery::Manifest& next) { next.tables.push_back(added); });
  } catch (...) {  // std::bad_alloc, or whatever a FileSystem of the application throws
    forget_unsaved(entry);
    throw;
  }
  if (saved.ok()) return table;
  forget_unsaved(entry);
  return saved;
}

/// Removes the table or index that was added last and could not be made durable. The manifest on the device may name
/// it all the same, if the sync failed that comes after the file has its name.
void Schema::forget_unsaved(const recovery::TableEntry& entry) {
  forget_last();
  const Status restored = base::with_memory([this] { return manifest_->write_back(); });
  if (!restored.ok() && entry.base) stop_writing(entry.name, restored);
}

/// Fails the log, so that no more writes commit. The manifest on the device may name an index that nobody keeps up to
/// date; the next opening would serve it without the records that came meanwhile.
void Schema::stop_writing(std::string_view index, const Status& cause) {
  try {
    shared_.log->fail(
        {cause.code(), fmt::format("'{}' may name the index '{}', which could not be made or taken back, so no "
                                   "record may come any more that it would lack: {}",
                                   options_.directory, index, cause.message())});
  } catch (const std::bad_alloc&) {  // the log has to fail also if there is no memory to say why
    shared_.log->fail(base::no_memory());
  }
}

/// Removes the table or index that was added last, which nobody has seen.
void Schema::forget_last() {
  const kvstore::hash::Table* const hash =
      tables_.back()->index().ordered() ? nullptr : &tables_.back()->index().hash();
  const auto main_header = hash == nullptr ? std::span<kvstore::hash::Bucket>() : hash->main_header();
  tables_by_name_.erase(tables_.back()->name());
  tables_.pop_back();
  if (!main_header.empty()) free_main_header(main_header);
}

/// Takes back the index that declare() has added, which nobody has seen. If the manifest cannot be written, the index
/// stays: the ids of tables are their places in the manifest, so memory and manifest must have the same tables.
Status Schema::take_back_last() {
  const auto remove = [](recovery::Manifest& next) { next.tables.pop_back(); };
  const Status taken = manifest_ == nullptr ? Status() : base::with_memory([&] { return manifest_->change(remove); });
  if (taken.ok()) forget_last();
  return taken;
}

Result<txn::TableCore*> Schema::create_table(std::string_view name, const TableOptions& table_options) {
  if (const Status good = check_table(name, table_options, options_); !good.ok()) return good;
  recovery::TableEntry entry;
  entry.name = name;
  entry.max_value_bytes = table_options.max_value_bytes == 0 ? kMaxValueBytes : table_options.max_value_bytes;
  if (table_options.index == IndexKind::kHash) entry.hash_keys = table_options.expected_keys;
  entry.shared = table_options.shared;
  entry.immutable = table_options.immutable;
  const std::lock_guard lock(mutex_);
  return declare(entry);
}

Result<txn::TableCore*> Schema::create_index(txn::TableCore* base, std::string_view name,
                                             const IndexOptions& index_options) {
  const std::lock_guard lock(mutex_);
  if (base == nullptr || !base->belongs_to(shared_)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("index '{}': the table handle is empty or of another database", name));
  }
  if (const std::string error = txn::index_options_error(index_options); !error.empty()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("index '{}': {}", name, error));
  }
  recovery::TableEntry entry;
  entry.name = name;
  entry.max_value_bytes = base->is_shared() ? kMaxIndexedSharedKeyBytes : kMaxKeyBytes;
  entry.shared = base->is_shared();
  entry.immutable = base->is_immutable();
  entry.base = base->id();
  entry.index = index_options;
  if (undeclared_.contains(name)) return declare(entry);
  if (!base->takes_writes()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("index '{}': table '{}' is sealed; create indexes first", name, base->name()));
  }
  const auto check_empty = [&]() -> Status {
    if (!holds_keys(base->index(), shared_.epochs)) return {};
    return {StatusCode::kFailedPrecondition, fmt::format("index '{}': table '{}' already holds records, or some that "
                                                         "were removed and are not collected yet; create indexes first",
                                                         name, base->name())};
  };
  if (const Status empty = check_empty(); !empty.ok()) return empty;
  auto index = declare(entry);
  if (!index.ok()) return index.status();
  base::sync_point("index.declared");
  const Status attached = base::with_memory([&]() -> Status {
    // While the manifest was written, records may have come that the index would lack.
    if (const Status empty = check_empty(); !empty.ok()) return empty;
    (*index)->make_index_of(base, index_options);
    base->add_index(*index);
    return {};
  });
  if (attached.ok()) return index;
  const Status taken_back = take_back_last();
  if (taken_back.ok()) return attached;
  stop_writing(name, taken_back);
  return taken_back;
}

Result<txn::TableCore*> Schema::find(std::string_view name, bool index) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_by_name_.find(name);
  if (found == tables_by_name_.end() || (found->second->base() != nullptr) != index) {
    return Status(StatusCode::kNotFound, fmt::format("there is no {} named '{}'", index ? "index" : "table", name));
  }
  return found->second;
}

std::vector<txn::TableCore*> Schema::tables() const {
  const std::lock_guard lock(mutex_);
  std::vector<txn::TableCore*> tables;
  for (const auto& table : tables_) tables.push_back(table.get());
  return tables;
}

}  // namespace granary::db
