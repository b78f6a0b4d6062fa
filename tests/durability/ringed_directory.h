#pragma once
// A database directory in memory with log rings of its own, for tests of what a power loss or another opening leaves of
// a few rows.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {

/// Returns the options of a database in the directory "/db" of a file system in memory, with threads of its own and
/// small log rings.
inline Options ringed_options(const RingDirectory& rings) {
  Options options = manual_options();
  options.background = Background::kThreads;
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.ring_bytes = std::uint64_t{64} << 10;
  return options;
}

/// The epochs of these options are short, so that writers soon wait for room in their rings if the log stands still.
inline Options small_ring_options(const RingDirectory& rings) {
  Options options = ringed_options(rings);
  options.epoch_ms = 2;
  options.checkpoint_interval_s = 0;
  return options;
}

template <typename Case>
class RingedDirectoryFor : public testing::TestWithParam<Case> {
 protected:
  Options options() const {
    Options options = ringed_options(rings_);
    options.epoch_ms = 5;
    options.log_segment_bytes = options.ring_bytes;
    return options;
  }
  std::unique_ptr<FaultFiles> new_files() const {
    auto files = std::make_unique<FaultFiles>();
    files->pass_through(rings_.path());
    return files;
  }
  std::unique_ptr<Database> open(FaultFiles& files) const { return open(files, options()); }
  static std::unique_ptr<Database> open(FaultFiles& files, const Options& options) {
    auto opened = Database::open(options, files);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static std::string rows(Database& database, const Table& table) {
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    return scan_text(t, table);
  }

  RingDirectory rings_;
};
using RingedDirectory = RingedDirectoryFor<Survives>;

}  // namespace granary::tests
