#pragma once
// A database whose epochs move only when a test says so. Everything runs on one thread, so every run is the same.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/support/htm_setting.h"
#include "tests/support/protocol_setting.h"
#include "tests/support/table_setting.h"

namespace granary::tests {

inline Options manual_options() {
  Options options;
  options.background = Background::kManual;
  options.snapshot_epochs = 4;
  options.max_open_epochs = 0;
  options.memory_limit_bytes = std::uint64_t{256} << 20;
  options.huge_pages = HugePages::kOff;
  set_htm(options);
  set_protocol(options);
  return options;
}

class ManualDatabase {
 public:
  /// Opens a database with `workers` workers, all of which this thread uses.
  explicit ManualDatabase(std::size_t workers = 2, const Options& options = manual_options())
      : ManualDatabase(Database::open(options).value(), workers) {}
  ManualDatabase(std::unique_ptr<Database> database, std::size_t workers) : database_(std::move(database)) {
    for (std::size_t i = 0; i < workers; ++i) workers_.push_back(database_->register_worker().value());
  }

  Database& operator*() { return *database_; }
  Database* operator->() { return database_.get(); }
  Worker& worker(std::size_t i = 0) { return workers_[i % workers_.size()]; }

  Table table(std::string_view name, const TableOptions& options = {}) {
    return database_->create_table(name, table_setting(options)).value();
  }

  /// Begins a transaction. The workers take turns.
  Transaction begin(const TransactionOptions& options = {}) { return worker(turn_++).begin(options); }
  Snapshot snapshot() { return worker(turn_++).snapshot(); }

  /// Runs a transaction alone, and expects that it commits.
  Ticket commit(FunctionRef<void(Transaction&)> body) {
    Transaction t = begin();
    body(t);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    return done.ticket;
  }
  Ticket put(const Table& table, std::string_view key, std::string_view value) {
    return commit([&](Transaction& t) { EXPECT_EQ(t.put(table, key, value), Outcome::kOk); });
  }
  Ticket remove(const Table& table, std::string_view key) {
    return commit([&](Transaction& t) { EXPECT_EQ(t.remove(table, key), Outcome::kOk); });
  }
  /// Returns the committed value, or "(none)".
  std::string value(const Table& table, std::string_view key) {
    std::string value;
    Transaction t = begin();
    const Outcome got = t.get(table, key, value);
    EXPECT_TRUE(t.commit().committed());
    return got == Outcome::kOk ? value : "(none)";
  }

  /// Lets `epochs` epochs pass. Precondition: no transaction is open.
  void pass_epochs(std::uint64_t epochs) {
    for (std::uint64_t i = 0; i < epochs; ++i) EXPECT_TRUE(database_->step());
  }
  /// Lets enough epochs pass for every new snapshot to see what was committed so far.
  void pass_snapshot_period() { pass_epochs(2 * std::uint64_t{database_->options().snapshot_epochs} + 1); }
  /// Lets all garbage become safe, and frees it. Precondition: no transaction or snapshot is open.
  void collect_everything() {
    for (int round = 0; round < 4; ++round) {  // to free garbage may make more: versions, then records, then nodes
      pass_snapshot_period();
      for (Worker& worker : workers_) worker.collect_garbage();
    }
  }

 private:
  std::unique_ptr<Database> database_;
  std::vector<Worker> workers_;  // destroyed before the database
  std::size_t turn_ = 0;
};

/// Returns the keys and values of a range as "a=1 b=2 ", in the order of the visits. It takes transactions and
/// snapshots, tables and indexes.
template <typename Reader, typename Source>
std::string scan_text(Reader& reader, const Source& source, const ScanRange& range = {}) {
  std::string text;
  const ScanResult scanned = reader.scan(source, range, [&](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(value).append(" ");
    return true;
  });
  return scanned ? text : "(" + std::string(name(scanned.outcome)) + ")";
}

}  // namespace granary::tests
