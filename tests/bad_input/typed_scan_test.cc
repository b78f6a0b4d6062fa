// Scans of a typed table in which some records are no key and value of its types: they are passed over, and count
// neither as visited nor towards the limit.

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

class TypedScan : public testing::TestWithParam<bool> {
 protected:
  TypedScan() {
    for (std::uint32_t key = 1; key <= 8; ++key) {
      const std::uint64_t value = 10 * std::uint64_t{key};
      const std::string_view bytes(reinterpret_cast<const char*>(&value), sizeof value);
      const bool odd = key % 2 == 1;
      db_.put(table_, encode_key(key), odd ? "short" : bytes);
      db_.put(table_, std::string(encode_key(key)) + "no key", bytes);
    }
    db_.pass_snapshot_period();
  }

  /// The keys that are visited, and then how many that is said to be. Ends at `stop`.
  std::string scan(Order order, std::size_t limit, std::uint32_t stop = 0) {
    if (GetParam()) {
      Snapshot snapshot = db_.snapshot();
      return scan(snapshot, order, limit, stop);
    }
    Transaction t = db_.begin();
    return scan(t, order, limit, stop);
  }

  ManualDatabase db_;
  const TypedTable<std::uint32_t, std::uint64_t> table_ =
      db_->create_table<std::uint32_t, std::uint64_t>("typed").value();

 private:
  template <typename Reader>
  std::string scan(Reader& reader, Order order, std::size_t limit, std::uint32_t stop) const {
    std::string text;
    const auto visit = [&](std::uint32_t key, std::uint64_t value) {
      EXPECT_EQ(value, 10 * key);
      text += std::to_string(key) + " ";
      return key != stop;
    };
    const ScanResult scanned = reader.scan(table_, 1, 9, visit, order, limit);
    return scanned ? text + "(" + std::to_string(scanned.count) + ")" : std::string(name(scanned.outcome));
  }
};
INSTANTIATE_TEST_SUITE_P(Readers, TypedScan, testing::Bool(),
                         [](const auto& made) { return made.param ? "Snapshot" : "Transaction"; });

TEST_P(TypedScan, CountsWhatItVisits) {
  EXPECT_EQ(scan(Order::kAscending, 100), "2 4 6 8 (4)");
  EXPECT_EQ(scan(Order::kDescending, 100), "8 6 4 2 (4)");
}

TEST_P(TypedScan, VisitsAsManyAsAskedFor) {
  EXPECT_EQ(scan(Order::kAscending, 3), "2 4 6 (3)");
  EXPECT_EQ(scan(Order::kDescending, 3), "8 6 4 (3)");
  EXPECT_EQ(scan(Order::kAscending, 4), "2 4 6 8 (4)");
  EXPECT_EQ(scan(Order::kAscending, 1), "2 (1)");
  EXPECT_EQ(scan(Order::kAscending, 0), "(0)");
}

TEST_P(TypedScan, EndsWhereTheVisitorSays) {
  EXPECT_EQ(scan(Order::kAscending, 100, 4), "2 4 (2)");
  EXPECT_EQ(scan(Order::kAscending, 3, 4), "2 4 (2)");
  EXPECT_EQ(scan(Order::kDescending, 3, 6), "8 6 (2)");
}

/// The scan covers records that it has passed over, as far as it has looked.
TEST_P(TypedScan, NoPhantoms) {
  if (GetParam()) return;
  Transaction t = db_.worker(0).begin();
  std::uint32_t last = 0;
  EXPECT_TRUE(t.scan(
      table_, 1, 9,
      [&](std::uint32_t key, std::uint64_t) {
        last = key;
        return true;
      },
      Order::kAscending, 2));
  EXPECT_EQ(last, 4U);
  EXPECT_EQ(t.put(table_, 100, 1), Outcome::kOk);
  EXPECT_TRUE(db_.worker(1)
                  .run([&](Transaction& other) { (void)other.put(table_, std::string(encode_key(3U)) + "x", "new"); })
                  .committed());
  EXPECT_FALSE(t.commit().committed());
}

}  // namespace
}  // namespace granary::tests
