// An index that is made while others use the database: it has everything, or there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

/// Making the manifest durable takes its time. An index that lacked what came meanwhile would be wrong for good.
TEST(DeclaredIndex, IsRefusedIfRecordsComeMeanwhile) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  const IndexOptions by_first_byte = {.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}, .unique = false};
  {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("people", {.max_value_bytes = 100}).value();
    Worker worker = database->register_worker().value();
    base::set_sync_hook([&](std::string_view point) {
      if (point != "index.declared") return;
      EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "1", "ada")); }));
    });
    const Status refused = database->create_index(table, "by letter", by_first_byte).status();
    base::set_sync_hook({});
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), testing::HasSubstr("already holds records"));
    EXPECT_EQ(database->index("by letter").status().code(), StatusCode::kNotFound);
    EXPECT_TRUE(database->create_table("by letter").ok()) << "the name is free again";
  }
  const auto database = Database::open(options).value();
  EXPECT_EQ(database->index("by letter").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(database->table("by letter").ok());
}

}  // namespace
}  // namespace granary::tests
