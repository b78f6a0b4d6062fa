// The manifest of a database in use: what is seen of it is on the device.

#include "src/db/durable_manifest.h"

#include <gtest/gtest.h>

#include "tests/support/fault_files.h"

namespace granary::tests {
namespace {

class DurableManifests : public testing::Test {
 protected:
  DurableManifests() { EXPECT_TRUE(files_.make_directory("/db").ok()); }

  Status add_hash_table(std::uint64_t keys) {
    return manifest_.change([&](recovery::Manifest& next) {
      recovery::TableEntry table;
      table.id = static_cast<std::uint32_t>(next.tables.size());
      table.name = "table";
      table.hash_keys = keys;
      next.tables.push_back(table);
    });
  }
  recovery::Manifest on_device() { return recovery::read_manifest(files_, "/db").value(); }

  FaultFiles files_;
  db::DurableManifest manifest_{files_, "/db"};
};

TEST_F(DurableManifests, AChangeIsOnTheDeviceWhenItIsSeen) {
  ASSERT_TRUE(add_hash_table(7).ok());
  EXPECT_EQ(manifest_.table(0).hash_keys, 7U);
  const auto left = files_.power_loss_image(Survives::kSynced);
  EXPECT_EQ(recovery::read_manifest(*left, "/db").value().tables.size(), 1U);
}

TEST_F(DurableManifests, NobodySeesAChangeThatCouldNotBeWritten) {
  ASSERT_TRUE(add_hash_table(7).ok());
  files_.plan({.call = FileCall::kSync});
  EXPECT_EQ(add_hash_table(8).code(), StatusCode::kIoError);
  EXPECT_EQ(manifest_.copy().tables.size(), 1U);
  EXPECT_EQ(on_device().tables.size(), 1U);
}

TEST_F(DurableManifests, ANotedNumberOfKeysWaitsForTheNextChange) {
  ASSERT_TRUE(add_hash_table(7).ok());
  manifest_.note_keys(0, 100);
  manifest_.note_keys(0, 50);
  EXPECT_EQ(manifest_.table(0).hash_keys, 100U);
  EXPECT_EQ(on_device().tables[0].hash_keys, 7U);
  ASSERT_TRUE(add_hash_table(8).ok());
  EXPECT_EQ(on_device().tables[0].hash_keys, 100U);
}

}  // namespace
}  // namespace granary::tests
