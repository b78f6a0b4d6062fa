#pragma once
// A log without a database around it, and tables to replay it into.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <granary/limits.h>
#include <gtest/gtest.h>

#include "recovery/replay.h"
#include "src/base/waiter.h"
#include "src/memory/region.h"
#include "src/record/stable_read.h"
#include "src/txn/table_core.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::tests {

struct StoredVersion {
  std::uint64_t tid = 0;
  std::string value;
  bool operator==(const StoredVersion&) const = default;
};
using TableContents = std::map<std::string, StoredVersion>;

/// A directory whose segments are each of a logger of its own.
struct StoredLog {
  explicit StoredLog(std::uint32_t loggers = 1) {
    EXPECT_TRUE(disk.make_directory("/a").ok());
    manifest.database = kDatabase;
    manifest.log_directories = {"/a"};
    manifest.generations = {{1, loggers, 1, std::nullopt, 0}};
  }
  void put_segment(std::uint32_t logger, const SegmentBuilder& builder) {
    disk.put("/a/" + log::segment_name(1, logger, 0), builder.bytes());
  }
  recovery::LogScan scan() {
    auto scanned = recovery::scan_logs(disk, manifest, {});
    EXPECT_TRUE(scanned.ok()) << scanned.status().message();
    return scanned.ok() ? std::move(*scanned) : recovery::LogScan();
  }
  FaultFiles disk;
  recovery::Manifest manifest;
};

class ReplayRig {
 public:
  explicit ReplayRig(std::size_t workers, std::size_t table_count = 2, std::uint64_t bytes = std::uint64_t{256} << 20)
      : region_(memory::Region::map({.reserve_bytes = bytes, .huge_pages = HugePages::kOff}).value()),
        slabs_(*region_, {.limit_bytes = bytes}),
        epochs_({}),
        shared_{.settings = {}, .epochs = epochs_, .slabs = slabs_, .waiter = waiter_} {
    for (std::size_t i = 0; i < workers; ++i) {
      states_.push_back(std::make_unique<cc::WorkerState>(shared_));
      workers_.push_back(states_.back().get());
    }
    for (std::uint32_t id = 0; id < table_count; ++id) {
      cores_.push_back(std::make_unique<txn::TableCore>(id, "t", kMaxValueBytes, shared_, states_.front()->nodes));
      tables_.push_back(cores_.back().get());
    }
  }

  Result<recovery::ReplayStatistics> replay(base::FileSystem& files, const recovery::LogScan& scan,
                                            std::span<const recovery::RingEntries> rings = {},
                                            const recovery::ReplayOptions& options = {}) {
    return recovery::replay(files, scan, rings, tables_, workers_, options);
  }

  txn::TableCore& table(std::uint32_t id) { return *tables_[id]; }

  /// What transactions would find; checks that every record is a plain present one and the tree is whole.
  TableContents contents(std::uint32_t table) {
    struct Visitor final : kvstore::ordered::ScanVisitor {
      void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
      bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
        const auto* record = reinterpret_cast<const record::Record*>(value);
        std::string bytes(record->size(), '\0');
        base::ThreadWaiter waiter;
        const auto read = record::read_stable(*record, bytes.data(), bytes.size(), waiter);
        EXPECT_EQ(read.state, record::ReadState::kValue);
        EXPECT_EQ(read.tid & record::kStatusMask, record::kLatest);
        EXPECT_EQ(record->previous(), nullptr);
        found[std::string(key)] = {record::tid_of(read.tid), bytes};
        return true;
      }
      TableContents found;
    } visitor;
    tables_[table]->tree().scan({}, kvstore::ordered::Direction::kForward, visitor);
    EXPECT_EQ(tables_[table]->tree().check(), "");
    return visitor.found;
  }

  std::int64_t record_bytes() const {
    std::int64_t sum = 0;
    for (const auto& state : states_) sum += state->slabs.bytes_in_use(memory::SlabKind::kRecord);
    return sum;
  }

 private:
  std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  base::ThreadWaiter waiter_;
  cc::DatabaseState shared_;
  std::vector<std::unique_ptr<cc::WorkerState>> states_;
  std::vector<cc::WorkerState*> workers_;
  std::vector<std::unique_ptr<txn::TableCore>> cores_;
  std::vector<txn::TableCore*> tables_;
};

}  // namespace granary::tests
