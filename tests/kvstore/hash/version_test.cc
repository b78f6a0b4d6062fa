// What versions promise: an accepted lookup is of one moment, whenever each line was read; a miss stays valid exactly
// until its chain changes. Lines are taken at every combination of moments around one change, as a READ may bring them.
// Not covered: words within a line that move in another order than ascending, which the fabric rules out.

#include <cstring>
#include <functional>
#include <vector>

#include "src/base/test_hooks.h"
#include "tests/kvstore/hash/table_fixture.h"

namespace granary::kvstore::hash::test {
namespace {

/// The bucket of a one-bucket table, as it was before, during and after one change.
class Moments {
 public:
  explicit Moments(Fixture& one, std::span<Bucket> main, const std::function<void()>& change) : one_(one), main_(main) {
    before = take();
    base::set_sync_hook([this](std::string_view point) {
      if (point.starts_with("hash.")) take();
    });
    change();
    base::set_sync_hook({});
    after = take();
  }

  /// Composes a bucket of lines taken at these moments and looks the key up in it.
  bool try_find(std::string_view key, const std::vector<std::size_t>& moments, Lookup* found) {
    for (unsigned line = 0; line < kLines; ++line) image_.lines[line] = taken_[moments[line]].lines[line];
    const Table image({&image_, 1}, one_.pool.region->base());
    return image.try_find(key, found);
  }

  void for_each_mix(const std::function<void(const std::vector<std::size_t>&)>& act) {
    const std::size_t count = taken_.size();
    for (std::size_t mix = 0; mix < count * count * count; ++mix)
      act({mix % count, mix / count % count, mix / count / count});
  }
  std::size_t count() const { return taken_.size(); }

  Version before = 0, after = 0;

 private:
  Version take() {
    taken_.push_back(main_[0]);
    return main_[0].lines[0].opened;
  }

  Fixture& one_;
  std::span<Bucket> main_;
  std::vector<Bucket> taken_;
  Bucket image_;
};

struct OneBucket {
  OneBucket() : one(1), main(one.pool.main_header(1)), table(main, one.pool.region->base()) {}
  bool insert(std::uint64_t number) {
    return table.insert_if_absent(number_key(number), one.value(number), one.worker.memory).what ==
           InsertResult::What::kInserted;
  }
  bool remove(std::uint64_t number) { return table.remove(number_key(number), one.value(number), one.worker.memory); }
  Fixture one;
  std::span<Bucket> main;
  Table table;
};

constexpr std::uint64_t kKeys = 7;

TEST(HashVersions, AMixOfLinesNeverMissesAnInsertAtTheVersionAfterIt) {
  for (std::uint64_t last = 1; last <= kKeys; ++last) {
    OneBucket bucket;
    for (std::uint64_t i = 1; i < last; ++i) ASSERT_TRUE(bucket.insert(i));
    Moments moments(bucket.one, bucket.main, [&] { ASSERT_TRUE(bucket.insert(last)); });
    ASSERT_EQ(moments.count(), 4u) << "before, opened, closing, after";
    ASSERT_NE(moments.before, moments.after);
    std::size_t accepted = 0;
    moments.for_each_mix([&](const std::vector<std::size_t>& mix) {
      Lookup found;
      if (!moments.try_find(number_key(last), mix, &found)) return;
      ++accepted;
      EXPECT_EQ(found.version, found.value == 0 ? moments.before : moments.after);
    });
    EXPECT_GE(accepted, 2u) << "all before, all after";
  }
}

TEST(HashVersions, AMixOfLinesNeverMissesAKeyAtTheVersionBeforeItsRemoval) {
  for (std::uint64_t victim = 1; victim <= kKeys; ++victim) {
    OneBucket bucket;
    for (std::uint64_t i = 1; i <= kKeys; ++i) ASSERT_TRUE(bucket.insert(i));
    Moments moments(bucket.one, bucket.main, [&] { ASSERT_TRUE(bucket.remove(victim)); });
    moments.for_each_mix([&](const std::vector<std::size_t>& mix) {
      Lookup found;
      if (!moments.try_find(number_key(victim), mix, &found)) return;
      EXPECT_EQ(found.version, found.value == 0 ? moments.after : moments.before);
    });
  }
}

TEST(HashVersions, AMissIsUnchangedUntilTheChainChanges) {
  OneBucket bucket;
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(bucket.insert(i));
  const auto expect_change = [&](const std::function<void()>& change, const char* what) {
    const Lookup miss = bucket.table.find(number_key(99));
    ASSERT_EQ(miss.value, 0u);
    EXPECT_TRUE(Table::unchanged(miss.bucket, miss.version)) << what;
    change();
    EXPECT_FALSE(Table::unchanged(miss.bucket, miss.version)) << what;
  };
  expect_change([&] { bucket.insert(21); }, "an insert into the last header");
  expect_change([&] { bucket.remove(20); }, "a removal from the last header");
  expect_change([&] { bucket.table.replace(number_key(1), bucket.one.value(1), bucket.one.value(2)); }, "a replace");
}

TEST(HashVersions, WhatChangesNothingKeepsTheVersion) {
  OneBucket bucket;
  ASSERT_TRUE(bucket.insert(1));
  const Lookup miss = bucket.table.find(number_key(99));
  EXPECT_FALSE(bucket.insert(1));
  EXPECT_FALSE(bucket.remove(2));
  EXPECT_FALSE(bucket.table.replace(number_key(1), bucket.one.value(5), bucket.one.value(6)));
  EXPECT_TRUE(Table::unchanged(miss.bucket, miss.version));
}

TEST(HashVersions, AnInsertTellsTheVersionsAroundIt) {
  OneBucket bucket;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const Lookup miss = bucket.table.find(number_key(i));
    const auto result = bucket.table.insert_if_absent(number_key(i), bucket.one.value(i), bucket.one.worker.memory);
    EXPECT_EQ(result.bucket, miss.bucket);
    EXPECT_EQ(result.before, miss.version);
    EXPECT_TRUE(Table::unchanged(result.bucket, result.after));
  }
}

TEST(HashVersions, NobodyIsValidatedWhileAChangeIsUnderWay) {
  OneBucket bucket;
  ASSERT_TRUE(bucket.insert(1));
  const Lookup miss = bucket.table.find(number_key(99));
  int looks = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (!point.starts_with("hash.")) return;
    ++looks;
    EXPECT_FALSE(Table::unchanged(miss.bucket, miss.version));
    Lookup found;
    EXPECT_FALSE(bucket.table.try_find(number_key(99), &found)) << "a miss needs all lines";
  });
  ASSERT_TRUE(bucket.insert(99));
  base::set_sync_hook({});
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace granary::kvstore::hash::test
