// `granary cluster check` and `granary cluster key`. What is checked is tested in tests/cluster_config and
// tests/cli/cluster_check.

#include <algorithm>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::HasSubstr;

TEST(Cluster, CheckSaysWhatIsFoundForPeopleAndPrograms) {
  const Ran table = granary("cluster check " EXAMPLES "/cluster.toml");
  EXPECT_EQ(table.exit_code, 0) << table.out << table.err;
  EXPECT_THAT(table.out, HasSubstr("cluster 'example', 3 nodes over shm, fingerprint "));
  EXPECT_THAT(table.out, HasSubstr("on this host: 1, 2, 3;"));
  EXPECT_THAT(table.out, HasSubstr("huge pages"));
  const auto json = nlohmann::json::parse(granary("cluster check " EXAMPLES "/cluster.toml --json --id=2").out);
  EXPECT_TRUE(json["ok"]);
  EXPECT_EQ(json["here"], nlohmann::json({2}));
  EXPECT_THAT(table.out, HasSubstr(json["fingerprint"].get<std::string>()));
}

TEST(Cluster, CheckListsAllMistakesOfTheFile) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\nepoch_ms = 0\n[[node]]\nid = 1\nprot = 1\n";
  const Ran ran = granary("cluster check " + path);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "granary: " + path + ":4: epoch_ms = 0: expected 1 to 10000\ngranary: " + path +
                         ":7: prot: this node has no such key; did you mean port?\n");
}

TEST(Cluster, WhatKeepsANodeFromStartingIsExitCodeOne) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\nkey_file = \"key\"\n[[node]]\nid = 1\n";
  const Ran without = granary("cluster check " + path);
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.out, HasSubstr("granary cluster key " + directory / "key"));
  EXPECT_EQ(granary("cluster key " + directory / "key").exit_code, 0);
  EXPECT_EQ(granary("cluster check " + path).exit_code, 0);
  EXPECT_EQ(granary("cluster key " + directory / "key").exit_code, 3) << "a key is not overwritten";
  EXPECT_EQ(granary("cluster check " + path + " --id=2").exit_code, 2);
}

}  // namespace
}  // namespace granary::cli
