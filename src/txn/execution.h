#pragma once
// Executes the operations of one transaction, each at the node where its key lives, and keeps secondary indexes in
// step. Context (context.h) admits an operation and passes it on to Execution. LocalAccess works on records of this
// node, and RemoteAccess on those of other nodes.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <granary/transaction.h>

#include "src/txn/local_access.h"
#include "src/txn/remote_access.h"

namespace granary::txn {

template <typename Get>
struct GetsElsewhere;

class Execution {
 public:
  Execution(WorkerCore& worker, TransactionState& transaction)
      : transaction_(transaction),
        local_(worker, transaction) {}

  /// Sets how transactions reach other nodes; nullptr: there are no other nodes. No transaction is open.
  void set_remote(std::unique_ptr<RemoteAccess> remote) {
    remote_ = std::move(remote);
    local_.sets().remote = remote_ == nullptr ? nullptr : &remote_->remote_commit();
  }
  RemoteAccess* remote() { return remote_.get(); }
  LocalAccess& local() { return local_; }
  /// Whether the transaction has touched another node.
  bool across() const { return remote_ != nullptr && remote_->used(); }

  GetResult get(TableCore& table, std::string_view key, std::span<char> buffer, bool will_write) {
    if (const Home home = home_elsewhere(table, key)) [[unlikely]]
      return get_elsewhere({.key = {&table, *home, key}, .will_write = will_write}, buffer);
    if (will_write) {
      if (const Outcome locked = local_.lock_to_write(table, key); locked != Outcome::kOk) [[unlikely]]
        return {locked, 0};
    }
    return local_.get(table, key, buffer);
  }
  Outcome get(TableCore& table, std::string_view key, std::string& value) {
    return get(home_elsewhere(table, key), table, key, value);
  }
  // Parts of values. A part of a local record is accessed alone where the protocol allows it. Otherwise the whole value
  // is read and written.
  GetResult get_part(TableCore& table, std::string_view key, std::size_t from, std::span<char> buffer);
  Outcome write_part(TableCore& table, std::string_view key, std::size_t from, std::string_view bytes);
  Outcome multi_get(std::span<MultiGet> gets);
  /// Makes those puts whose outcome is kOk, and sets their outcomes. Returns kOk, or why the transaction has ended
  /// (multi_put.cc).
  Outcome multi_put(std::span<MultiPut> puts);
  Outcome declare(std::span<const Declared> keys);
  Outcome write(TableCore& table, std::string_view key, std::string_view value, const WriteRule& rule) {
    const Home home = home_elsewhere(table, key);
    if (!table.indexes().empty()) return write_indexed(home, table, key, value, rule);
    return write_at(home, table, key, value, rule);
  }
  /// Scans the table, or its secondary index `index` if that is not nullptr.
  ScanResult scan(TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit);

 private:
  /// The other node on which the record and its index entries live; none if they live here.
  using Home = std::optional<std::uint16_t>;

  Outcome get(Home home, TableCore& table, std::string_view key, std::string& value);
  Outcome write_at(Home home, TableCore& table, std::string_view key, std::string_view value, const WriteRule& rule) {
    return home ? write_elsewhere(*home, table, key, value, rule) : local_.write(table, key, value, rule);
  }

  // Secondary indexes (index_maintenance.cc).
  Outcome write_indexed(Home home, TableCore& table, std::string_view key, std::string_view value,
                        const WriteRule& rule);
  Outcome move_index_entry(Home home, TableCore& index, std::string_view key, const std::string* old_value,
                           const std::string_view* new_value);
  /// Whether everything that was read would pass validation now, here and, if `home` is another node, at other nodes.
  bool seen_consistently(Home home);

  // Other nodes (execution_elsewhere.cc).
  Outcome find_elsewhere(RemoteGet& get);
  GetResult get_elsewhere(RemoteGet get, std::span<char> buffer);
  Outcome multi_get_elsewhere(GetsElsewhere<RemoteGet>& elsewhere);
  /// Reads the rows of other nodes that the puts replace, all at once, where a put would read its own.
  Outcome read_replaced_elsewhere(std::span<const MultiPut> puts);
  Outcome declare_elsewhere(std::span<const DeclaredKey> keys);
  Outcome write_elsewhere(std::uint16_t home, TableCore& table, std::string_view key, std::string_view value,
                          const WriteRule& rule);
  ScanResult scan_at(Home home, TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit) {
    if (range.limit == 0) return {};
    return home ? scan_elsewhere(*home, table, index, range, visit) : local_.scan(table, index, range, visit);
  }
  ScanResult scan_elsewhere(std::uint16_t home, TableCore& table, TableCore* index, const ScanRange& range,
                            ScanFn visit);

  TransactionState& transaction_;
  LocalAccess local_;
  std::unique_ptr<RemoteAccess> remote_;
  std::string whole_;  ///< the whole value while a part of it is read or written
};

}  // namespace granary::txn
