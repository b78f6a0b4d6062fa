// Runs `granary bench remote` with few keys, and looks at the READs that it counts.

#include "tests/cli/json_of.h"

namespace granary::cli {
namespace {

TEST(RemoteBenchmark, FindsAllInTheReadsItShould) {
  const nlohmann::json json = json_of("bench remote --keys=2000 --lookups=20000 --location_cache=64KiB");
  ASSERT_TRUE(json.is_object());
  const nlohmann::json& figures = json["granary"]["figures"];
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_GE(figures[1]["reads"].get<double>(), 2.0) << "bucket and record";
  EXPECT_LT(figures[1]["reads"].get<double>(), 2.1);
  EXPECT_LT(figures[3]["reads"].get<double>(), 1.01) << "the cache has room for all keys";
  EXPECT_GT(figures[3]["cache_hits"].get<std::uint64_t>(), 19'000u);
}

TEST(RemoteBenchmark, FillsItsCacheWithKeysThatItHasNotLookedUp) {
  const nlohmann::json json = json_of("bench remote --keys=20000 --lookups=3200 --location_cache=1MiB");
  ASSERT_TRUE(json.is_object());
  const nlohmann::json& figures = json["granary"]["figures"];
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_GT(figures[3]["reads"].get<double>(), 1.5) << "most lookups are of keys that it has not met";
  EXPECT_LT(figures[4]["reads"].get<double>(), 1.1) << "only keys of indirect headers are to be looked up";
}

TEST(RemoteBenchmark, LooksUpInTheTablesOfOtherSystems) {
  const nlohmann::json json = json_of("bench remote --peers --keys=2000 --lookups=20000 --value_bytes=40");
  ASSERT_TRUE(json.is_object());
  const nlohmann::json& figures = json["granary"]["figures"];
  ASSERT_EQ(figures.size(), 8u);
  EXPECT_NEAR(figures[5]["reads"].get<double>(), 1 + 1.65, 0.1) << "Pilaf: slots, and the record";
  EXPECT_NEAR(figures[6]["reads"].get<double>(), 1 + 1.01, 0.02) << "FaRM: a neighbourhood, and the record";
  EXPECT_NEAR(figures[7]["reads"].get<double>(), 1.01, 0.02) << "FaRM: a neighbourhood with the values";
  for (const nlohmann::json& figure : figures) {
    EXPECT_EQ(figure["wrong"], 0u) << figure;
    EXPECT_EQ(figure.contains("alone_p50_ns"), figure["what"] != "lookups, cache from empty") << figure;
  }
}

}  // namespace
}  // namespace granary::cli
