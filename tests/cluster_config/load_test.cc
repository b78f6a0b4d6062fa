// Cluster files, good and bad. Each file in bad/ says in comments which problems it has: all of them, by line.

#include "cluster_config/load.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/support/temporary_directory.h"

namespace granary::cluster_config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kHead = "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n";

const std::string kNode = "[[node]]\nid = 1\n";

class ClusterFile : public testing::Test {
 protected:
  Result<ClusterConfig> load_text(std::string_view text) {
    std::ofstream(path_, std::ios::binary) << text;
    return load(path_);
  }
  std::string complaint(std::string_view text) {
    const Result<ClusterConfig> config = load_text(text);
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
    return config.status().message();
  }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "c.toml";
};

std::vector<std::string> bad_files() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(BAD_FILES)) names.push_back(file.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class BadFile : public testing::TestWithParam<std::string> {};

TEST_P(BadFile, IsRefusedWithAllItsProblems) {
  const std::string path = std::string(BAD_FILES) + "/" + GetParam() + ".toml";
  const std::string mark = "# expect: ";
  std::vector<std::string> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(mark)) expected.push_back(path + ":" + line.substr(mark.size()));
  }
  ASSERT_FALSE(expected.empty());
  Problems problems(path);
  ASSERT_TRUE(examine(path, problems).ok());
  std::vector<std::string> lines = problems.lines();
  ASSERT_EQ(lines.size(), expected.size()) << testing::PrintToString(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (expected[i].ends_with("*")) {  // the TOML library's words
      EXPECT_TRUE(lines[i].starts_with(expected[i].substr(0, expected[i].size() - 1))) << lines[i];
    } else {
      EXPECT_EQ(lines[i], expected[i]);
    }
  }
  EXPECT_EQ(load(path).status().code(), StatusCode::kInvalidArgument);
}

std::string test_name(const testing::TestParamInfo<std::string>& file) {
  std::string name = file.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, BadFile, testing::ValuesIn(bad_files()), test_name);

TEST_F(ClusterFile, TheExamplesAreGood) {
  const Result<ClusterConfig> small = load(std::string(EXAMPLES) + "/cluster.toml");
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_EQ(small->nodes.size(), 3u);
  EXPECT_EQ(small->run_directory, std::string(EXAMPLES) + "/run") << "relative to the file";
  EXPECT_EQ(small->find(2)->memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(small->find(4), nullptr);

  const Result<ClusterConfig> rack = load(std::string(EXAMPLES) + "/rack.toml");
  ASSERT_TRUE(rack.ok()) << rack.status().message();
  EXPECT_EQ(rack->provider, Provider::kVerbs);
  EXPECT_EQ(rack->membership.kind, MembershipKind::kZookeeper);
  EXPECT_THAT(rack->membership.servers, ElementsAre("10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"));
  EXPECT_EQ(rack->clock.kind, ClockKind::kPtp);
  EXPECT_EQ(rack->clock.grandmaster, "001122.fffe.334455");
  const NodeConfig& node = *rack->find(3);
  EXPECT_EQ(node.host, "rack-c");
  EXPECT_EQ(node.cpus.size(), 16u);
  EXPECT_EQ(node.numa_node, 0);
  EXPECT_EQ(node.data_directory, "/var/lib/granary/node-3") << "directories of the defaults are those above";
  EXPECT_THAT(node.log_directories, ElementsAre("/nvme0/granary/node-3", "/nvme1/granary/node-3"));
}

TEST_F(ClusterFile, ANodesOwnValuesComeBeforeTheDefaults) {
  const auto config = load_text(std::string(kHead) +
                                "[defaults]\nworkers = 2\ncpus = \"0-2,7\"\ndata_directory = \"data\"\n"
                                "install_directory = \"granary\"\nssh_port = 2222\n"
                                "[[node]]\nid = 9\nworkers = 3\ndata_directory = \"/elsewhere\"\n[[node]]\nid = 1\n");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->nodes.front().id, 1) << "by id";
  EXPECT_EQ(config->find(9)->workers, 3u);
  EXPECT_EQ(config->find(1)->workers, 2u);
  EXPECT_THAT(config->find(1)->cpus, ElementsAre(0, 1, 2, 7));
  EXPECT_EQ(config->find(9)->numa_node, -1);
  EXPECT_EQ(config->find(9)->data_directory, "/elsewhere");
  EXPECT_EQ(config->find(1)->data_directory, directory_ / "data/node-1");
  EXPECT_EQ(config->find(1)->install_directory, directory_ / "granary") << "nodes of a host share it";
  EXPECT_EQ(config->find(1)->ssh_port, 2222);
}

TEST_F(ClusterFile, AnAddressMayBeWrittenInAnyForm) {
  const auto nodes = [](const char* first, const char* second) {
    return kHead + ("[[node]]\nid = 1\naddress = \"" + std::string(first) + "\"\n[[node]]\nid = 2\naddress = \"") +
           second + "\"\n";
  };
  const auto config = load_text(nodes("FD00:0:0::0001", "10.0.0.1"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->find(1)->address, "fd00::1");
  EXPECT_EQ(config->find(2)->address, "10.0.0.1");
  EXPECT_THAT(complaint(nodes("FD00::1", "fd00:0::1")),
              HasSubstr("the address fd00::1 port 18515 belongs to the node"));
}

TEST_F(ClusterFile, LineEndsAndByteOrderMarksOfOtherSystemsAreFine) {
  const std::string text = "\xef\xbb\xbf[cluster]\r\nname = \"a\"\r\nrun_directory = \"run\"\r\n[[node]]\r\nid = 1\r\n";
  const auto config = load_text(text);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->name, "a");
  EXPECT_THAT(complaint(text + "prot = 1\r\n"),
              HasSubstr("c.toml:6: prot: this node has no such key; did you mean port?"));
}

TEST_F(ClusterFile, WhatIsNoTextIsRefused) {
  EXPECT_THAT(complaint(""), HasSubstr("c.toml:1: there is no section [cluster]"));
  EXPECT_THAT(complaint(std::string_view("\xff\xfe[\0c\0", 6)), HasSubstr("c.toml:1: "));
  EXPECT_THAT(complaint(std::string(kHead) + "key_file = \"\xc3\x28\"\n"), HasSubstr("c.toml:4: "));
  EXPECT_THAT(complaint(std::string(kHead) + std::string(1, '\0')), HasSubstr("c.toml:4: "));
  EXPECT_THAT(complaint(std::string(kHead) + "key_file = \"a\\u0000b\"\n" + kNode), HasSubstr("c.toml:4: key_file"));
}

TEST_F(ClusterFile, HugeLinesAreRefusedInOneShortLine) {
  const std::string value =
      complaint(std::string(kHead) + "key_file = \"" + std::string(1'000'000, 'x') + "\"\n" + kNode);
  EXPECT_THAT(value, HasSubstr("c.toml:4: key_file = \"xxx"));
  EXPECT_LT(value.size(), 300u);
  const std::string key = complaint(std::string(kHead) + std::string(1'000'000, 'x') + " = 1\n" + kNode);
  EXPECT_THAT(key, HasSubstr("c.toml:4: xxx"));
  EXPECT_LT(key.size(), 400u);
  EXPECT_THAT(complaint(std::string(2'000'000, '#')), HasSubstr("at most 1 MiB"));
  EXPECT_THAT(complaint(std::string(kHead) + "key_file = " + std::string(100'000, '[')), HasSubstr("c.toml:4: "));
}

TEST_F(ClusterFile, TooManyNodesAreRefused) {
  std::string text = kHead;
  for (int id = 1; id <= 10'000; ++id) text += "[[node]]\nid = " + std::to_string(id) + "\n";
  EXPECT_THAT(complaint(text), HasSubstr("c.toml:132: there are 10000 nodes; expected 1 to 64"));
}

TEST_F(ClusterFile, WhatIsNoFileIsRefused) {
  EXPECT_THAT(load(directory_ / "none").status().message(), HasSubstr("there is no cluster file"));
  EXPECT_THAT(load(directory_.path()).status().message(), HasSubstr("is a directory; expected a cluster file"));
  EXPECT_EQ(load("/dev/zero").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ClusterFile, TheFirstOfSeveralProblemsTellsOfTheOthers) {
  EXPECT_THAT(complaint(std::string(kHead) + "epoch_ms = 0\nrelease = 1\n[[node]]\n"),
              HasSubstr("c.toml:4: epoch_ms = 0: expected 1 to 10000 (and 2 more; 'granary cluster check "));
}

TEST_F(ClusterFile, TheFingerprintIsOfWhatMustBeAlike) {
  const std::string nodes = "[[node]]\nid = 1\n[[node]]\nid = 2\nworkers = 2\n";
  const auto print = [&](const std::string& text) { return fingerprint(load_text(text).value()); };
  const std::uint64_t first = print(kHead + nodes);
  EXPECT_EQ(first, print("# other words\n" + std::string(kHead) + "epoch_ms = 40\n" + nodes +
                         "cpus = \"1\"\nmemory = \"64MiB\"\nssh_host = \"there\"\n"));
  EXPECT_EQ(first, print(kHead + std::string("[[node]]\nid = 2\nworkers = 2\n[[node]]\nid = 1\n")));
  for (const char* other : {"epoch_ms = 41\n", "lease_us = 401\n", "release = \"commit\"\n", "snapshot_epochs = 24\n",
                            "key_file = \"k\"\n"}) {
    EXPECT_NE(first, print(kHead + std::string(other) + nodes)) << other;
  }
  EXPECT_NE(first, print(kHead + nodes + "[[node]]\nid = 3\n"));
  EXPECT_NE(first, print(kHead + nodes + "port = 1\n"));
  const std::uint64_t kept = print(kHead + nodes + "data_directory = \"/here\"\n");
  EXPECT_NE(first, kept) << "others read its log";
  EXPECT_EQ(kept, print(kHead + nodes + "data_directory = \"/elsewhere\"\n"));
  EXPECT_NE(first, print(kHead + std::string("[[node]]\nid = 1\n[[node]]\nid = 2\nworkers = 3\n")));
}

}  // namespace
}  // namespace granary::cluster_config
