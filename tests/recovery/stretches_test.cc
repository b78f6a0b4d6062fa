// The stretches of a log are as long as what memory has to hold of them, also if the log is packed.

#include "recovery/stretches.h"

#include <gtest/gtest.h>

#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

constexpr std::uint64_t kEpochs = 64, kTransactions = 100;

/// Returns a scan of one segment with so many transactions of about a kilobyte in each epoch.
LogScan scan_of(std::optional<log::Codec> codec) {
  const SegmentName name{1, 0, 0};
  tests::SegmentBuilder builder(name);
  for (std::uint64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    std::string entries;
    for (std::uint64_t i = 1; i <= kTransactions; ++i) {
      const std::vector<tests::TestWrite> writes = {{.key = std::to_string(i), .value = std::string(1000, 'v')}};
      if (codec) {
        entries += tests::entry_of(record::make_tid(epoch, i), log::EntryKind::kTransaction, tests::body_of(writes));
      } else {
        builder.transaction(epoch, i, writes);
      }
    }
    if (codec) builder.packed(*codec, entries);
    builder.marker(epoch, epoch);
  }
  tests::FaultFiles files;
  files.put("/log/segment", builder.bytes());
  FileBytes buffer;
  auto scanned = scan_segment(files, "/log/segment", name, expected_header(tests::kDatabase, name), {}, buffer);
  EXPECT_TRUE(scanned.ok()) << scanned.status().message();
  EXPECT_EQ(scanned->transactions, kEpochs * kTransactions);
  EXPECT_TRUE(scanned->faults.empty());
  LogScan scan;
  scan.segments.emplace_back();
  static_cast<ScannedSegment&>(scan.segments.back()) = std::move(*scanned);
  return scan;
}

TEST(Stretches, OfAPackedLogAreAsManyAsOfAPlainOne) {
  const std::uint64_t bytes = std::uint64_t{512} << 10;
  const auto plain = static_cast<double>(stretches(scan_of(std::nullopt), {}, 0, bytes).size());
  EXPECT_GT(plain, 8);
  for (const log::Codec codec : {log::Codec::kLz4, log::Codec::kZstd})
    EXPECT_NEAR(static_cast<double>(stretches(scan_of(codec), {}, 0, bytes).size()), plain, 2);
}

}  // namespace
}  // namespace granary::recovery
