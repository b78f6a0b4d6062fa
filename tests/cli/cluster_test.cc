// `granary cluster check` and `granary cluster key`. What is checked is tested in tests/cluster_config and
// tests/cli/cluster_check.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cluster_config/membership/local/local_board.h"
#include "cluster_config/membership/membership.h"
#include "src/base/file.h"
#include "tests/cli/command_line.h"
#include "tests/support/crash_child.h"
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

TEST(Cluster, CheckFindsDataOfAnotherNode) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path)
      << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n[[node]]\nid = 1\ndata_directory = \"data\"\n";
  const Ran good = granary("cluster check " + path);
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_TRUE(good.out.starts_with("cluster 'a', 1 node over shm, fingerprint ")) << good.out;
  std::filesystem::create_directory(directory / "data");
  std::ofstream(directory / "data/MEMBER")
      << "granary member 2\nnode 2 of a\ncluster 00000000000000aa\ngeneration 1\ncrc32c d3ed01d3\n";
  const Ran ran = granary("cluster check " + path);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, HasSubstr("has the data of node 2"));
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

/// Only a board that cannot be asked hides the membership, and nothing else that is wrong with the cluster.
TEST(Cluster, ABadClockDoesNotHideADeadNode) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml", run = directory / "run";
  std::ofstream(path)
      << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n[clock]\nkind = \"ptp\"\npmc_socket = "
         "\"/nowhere/ptp4l\"\ngrandmaster = \"001122.fffe.334455\"\n[[node]]\nid = 1\n[[node]]\nid = 2\n";
  std::filesystem::create_directory(run);
  std::filesystem::permissions(run, std::filesystem::perms::owner_all);
  const auto join = [&](membership::NodeId node) {
    return membership::Membership::join(membership::open_local_board(run, 60'000'000).value(),
                                        {.node = node, .cluster = "a", .address = "here"}, {})
        .value();
  };
  const auto one = join(1);
  ASSERT_TRUE(join(2)->die().ok());
  const Ran ran = granary("cluster check --id=1 " + path);
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("cannot be reached at /nowhere/ptp4l"));
  EXPECT_THAT(ran.out, HasSubstr("member 1"));
  EXPECT_THAT(ran.out, HasSubstr("dead node 2"));
}

TEST(Cluster, MembersThatWereNotLookedAtAreNamedWithTheReason) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n[membership]\nkind = \"zookeeper\"\n"
                         "servers = [\"127.0.0.1:1\"]\n[clock]\nkind = \"none\"\n[[node]]\nid = 1\n";
  const Ran ran = granary("cluster check --id=1 " + path);
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("members +not looked at: 0 of 1 servers serve, which is no majority"));
}

/// In a network of its own, whose only interface leads to nobody.
TEST(Cluster, SilentHostsAreAskedAtTheSameTime) {
  const std::string network =
      "unshare --net sh -c 'ip link add silent0 type bridge && ip link set silent0 up && ip "
      "address add 10.99.9.1/24 dev silent0 && exec \"$@\"' sh";
  if (std::system((network + " true 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "needs root, and iproute2";
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream file(path);
  file << "[cluster]\nname = \"a\"\nprovider = \"verbs\"\nrun_directory = \"run\"\nkey_file = \"key\"\n[membership]\n"
          "kind = \"zookeeper\"\nservers = [\"127.0.0.1:1\"]\n[clock]\nkind = \"none\"\n";
  for (int id = 1; id <= 12; ++id)
    file << "[[node]]\nid = " << id << "\nhost = \"h" << id << "\"\naddress = \"10.99.9." << 10 + id << "\"\n";
  file.close();
  const auto began = std::chrono::steady_clock::now();
  const Ran ran = granary("cluster check --id=1 --json " + path, network);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  int silent = 0;
  const auto json = nlohmann::json::parse(ran.out);
  for (const auto& each : json["findings"])
    silent += each["found"].get<std::string>().ends_with("does not answer within a second");
  EXPECT_EQ(silent, 12) << ran.out;
  EXPECT_LT(took, std::chrono::seconds(8)) << "one after the other, they would take 12 s";
}

class Nodes : public testing::Test {
 protected:
  Nodes() { write(40); }
  void write(int epoch_ms, const std::string& defaults = "") {
    std::ofstream(file_) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\nkey_file = \"key\"\nepoch_ms = "
                         << epoch_ms << "\n[defaults]\nmemory = \"64MiB\"\n"
                         << defaults << "[[node]]\nid = 1\n[[node]]\nid = 2\n";
  }
  std::unique_ptr<tests::CrashChild> start(int id, int rejoin = 8, int start_timeout = 20) {
    return std::make_unique<tests::CrashChild>(std::vector<std::string>{
        GRANARY_COMMAND, "node", "--cluster=" + file_, "--id=" + std::to_string(id),
        "--start_timeout=" + std::to_string(start_timeout), "--rejoin=" + std::to_string(rejoin)});
  }
  /// The text of the configuration with the greatest version; empty if there is none.
  std::string newest_configuration() const {
    std::error_code none;
    std::string newest;
    unsigned long greatest = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_ / "run/membership", none)) {
      const std::string name = file.path().filename();
      const std::string prefix = "configuration.";
      if (!name.starts_with(prefix)) continue;
      const unsigned long version = std::strtoul(name.c_str() + prefix.size(), nullptr, 10);
      if (version < greatest) continue;
      greatest = version;
      std::ifstream text(file.path());
      newest.assign(std::istreambuf_iterator<char>(text), {});
    }
    return newest;
  }
  template <typename Condition>
  static bool comes_true(const Condition& condition) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);;) {
      if (condition()) return true;
      if (std::chrono::steady_clock::now() > end) return false;
      ::usleep(10'000);
    }
  }

  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "c.toml";
};

TEST_F(Nodes, ServeUntilTheyAreToldToStop) {
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  const auto first = start(1), second = start(2);
  EXPECT_TRUE(first->run_until("node 1 of 2 serves"));
  EXPECT_TRUE(second->run_until("node 2 of 2 serves"));
  const Ran again = granary("node --cluster=" + file_ + " --id=1");
  EXPECT_EQ(again.exit_code, 3) << again.err;
  EXPECT_THAT(again.err, HasSubstr("node 1"));
  for (const auto& [node, signal] : {std::pair(first.get(), SIGTERM), std::pair(second.get(), SIGHUP)}) {
    const auto begin = std::chrono::steady_clock::now();
    node->signal(SIGPIPE);  // ends nobody
    node->signal(signal);
    EXPECT_EQ(node->wait().exit_code, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
  EXPECT_EQ(first->lines().back(), "node 1 has left");
  EXPECT_EQ(second->lines().back(), "node 2 has left");
}

/// For both kinds of waiting: for nodes that do not come, and for the recovery of the whole cluster, which somebody
/// else holds up.
TEST_F(Nodes, ThatStillJoinOrRecoverLeaveInOrderWhenTheyAreToldTo) {
  write(40, "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  for (const bool recovers : {false, true}) {
    for (const int signal : {SIGTERM, SIGINT}) {
      std::filesystem::create_directories(directory_ / "run");
      std::filesystem::permissions(directory_ / "run", std::filesystem::perms::owner_all);
      auto held_up = base::system_files().lock(directory_ / "run/recovery");
      ASSERT_TRUE(held_up.ok());
      const auto node = start(1, /*rejoin=*/8, /*start_timeout=*/300);
      ASSERT_TRUE(comes_true([&] { return newest_configuration().find("joining") != std::string::npos; }));
      if (!recovers) {
        held_up->reset();
        ASSERT_TRUE(comes_true([&] {
          return std::filesystem::exists(directory_ / "data/node-1/MANIFEST") ||
                 std::filesystem::exists(directory_ / "data/MANIFEST");
        }));
      }
      node->signal(signal);
      EXPECT_EQ(node->wait().exit_code, 0) << "recovers: " << recovers;
      EXPECT_THAT(node->lines(), testing::ElementsAre("node 1 has left before it served"));
      EXPECT_THAT(newest_configuration(), Not(HasSubstr("joining"))) << "the others need not wait to find it dead";
      EXPECT_THAT(newest_configuration(), Not(HasSubstr("dead")));
    }
  }
  const auto first = start(1), second = start(2);  // nothing is left of the starts that came to nothing
  EXPECT_TRUE(first->run_until("node 1 of 2 serves"));
  EXPECT_TRUE(second->run_until("node 2 of 2 serves"));
  for (const auto& node : {first.get(), second.get()}) node->signal(SIGTERM);
  EXPECT_EQ(first->wait().exit_code, 0);
  EXPECT_EQ(second->wait().exit_code, 0);
}

/// Both signals are there when the process goes on, so that it has no time to leave in between.
TEST_F(Nodes, ThatAreToldToStopTwiceEndAtOnce) {
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  for (const bool serves : {false, true}) {
    const auto node = start(1, /*rejoin=*/8, /*start_timeout=*/300);
    std::unique_ptr<tests::CrashChild> other;
    if (serves) {
      other = start(2);
      ASSERT_TRUE(node->run_until("node 1 of 2 serves"));
    } else {
      ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(directory_ / "run/node-1.sock"); }));
    }
    node->signal(SIGSTOP);
    ASSERT_TRUE(node->wait_until_stopped());
    node->signal(SIGTERM);
    node->signal(SIGINT);
    node->signal(SIGCONT);
    EXPECT_THAT(node->wait().exit_code, testing::AnyOf(128 + SIGTERM, 128 + SIGINT)) << "serves: " << serves;
    if (other != nullptr) other->kill();
  }
}

TEST_F(Nodes, WithADifferentFileAreRefused) {
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  const auto first = start(1);
  while (!std::filesystem::exists(directory_ / "run/node-1.sock")) first->run_for(std::chrono::milliseconds(10));
  write(41);
  const Ran other = granary("node --cluster=" + file_ + " --id=2");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("fingerprint"));
}

TEST_F(Nodes, ThatLoseTheirMembershipEndWithExitCodeSix) {
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  const auto first = start(1), second = start(2);
  ASSERT_TRUE(first->run_until("node 1 of 2 serves"));
  ASSERT_TRUE(second->run_until("node 2 of 2 serves"));
  // In one step: the nodes may be writing into it.
  std::filesystem::rename(directory_ / "run/membership", directory_ / "run/gone");
  EXPECT_EQ(first->wait().exit_code, 6) << "without a data directory there is nothing to come back with";
}

TEST_F(Nodes, ThatLoseTheirMembershipAndHaveDataComeBackByThemselves) {
  write(40, "data_directory = \"data\"\n");
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  const auto first = start(1), second = start(2);
  ASSERT_TRUE(first->run_until("node 1 of 2 serves"));
  ASSERT_TRUE(second->run_until("node 2 of 2 serves"));
  std::filesystem::rename(directory_ / "run/membership", directory_ / "run/gone");
  const auto serves = [](const tests::CrashChild& node) {
    return std::count_if(node.lines().begin(), node.lines().end(),
                         [](const std::string& line) { return line.ends_with("serves"); });
  };
  for (const auto& node : {first.get(), second.get()}) {
    for (int turn = 0; serves(*node) < 2 && turn < 600; ++turn) node->run_for(std::chrono::milliseconds(100));
    EXPECT_EQ(serves(*node), 2);
  }
  for (const auto& node : {first.get(), second.get()}) node->signal(SIGTERM);
  EXPECT_EQ(first->wait().exit_code, 0);
  EXPECT_EQ(second->wait().exit_code, 0);
}

/// A node that cannot leave in order ends with the code of the cause in its first life, and also in one after it has
/// lost its membership and has come back by itself.
TEST_F(Nodes, ThatCannotLeaveInOrderSayWhyByTheExitCode) {
  std::ofstream(file_) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"64MiB\"\n"
                          "[[node]]\nid = 1\ndata_directory = \"data\"\n";
  for (const bool comes_back : {false, true}) {
    SCOPED_TRACE(comes_back);
    const auto node = start(1);
    ASSERT_TRUE(node->run_until("node 1 of 1 serves"));
    if (comes_back) {
      std::filesystem::rename(directory_ / "run/membership", directory_ / "run/gone");
      const auto served = [&] {
        node->run_for(std::chrono::milliseconds(100));
        return std::ranges::count(node->lines(), "node 1 of 1 serves") == 2;
      };
      ASSERT_TRUE(comes_true(served));
    }
    std::filesystem::remove_all(directory_ / "data");
    node->signal(SIGTERM);
    EXPECT_EQ(node->wait().exit_code, 3);
    std::filesystem::remove_all(directory_ / "run");  // the next turn's is a new cluster
  }
}

/// Its log directory stayed, so the directory could as well be a copy.
TEST_F(Nodes, WhoseDirectoryWasMovedAreTold) {
  for (const bool by_recover : {false, true}) {
    const std::string data = directory_ / (by_recover ? "c" : "a"), moved = directory_ / (by_recover ? "d" : "b");
    const auto lies_in = [&](const std::string& place) {
      std::ofstream(file_) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"64MiB\"\n"
                              "reliable_directory = \"rings\"\n[[node]]\nid = 1\ndata_directory = \""
                           << place << "\"\nlog_directories = [\"" << data << "-logs\"]\n";
    };
    const auto serves = [this](const std::vector<std::string>& flags) {
      std::vector<std::string> words = {GRANARY_COMMAND, "node", "--cluster=" + file_, "--id=1"};
      words.insert(words.end(), flags.begin(), flags.end());
      tests::CrashChild node(words);
      const bool served = node.run_until("node 1 of 1 serves");
      node.signal(SIGTERM);
      return served && node.wait().exit_code == 0;
    };
    lies_in(data);
    ASSERT_TRUE(serves({}));
    std::filesystem::copy(data, moved, std::filesystem::copy_options::recursive);
    lies_in(moved);
    const Ran copied = granary("node --cluster=" + file_ + " --id=1 --moved");
    EXPECT_EQ(copied.exit_code, 3);
    EXPECT_THAT(copied.err, HasSubstr("was not moved: the database is still in"));
    std::filesystem::remove_all(data);
    const Ran refused = granary("node --cluster=" + file_ + " --id=1");
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_THAT(refused.err, HasSubstr("--moved"));
    if (by_recover) {
      const Ran taken = granary("recover " + moved + " --moved");
      EXPECT_EQ(taken.exit_code, 0) << taken.err;
      EXPECT_THAT(taken.out, HasSubstr("counts as moved: start the node"));
    }
    EXPECT_TRUE(serves(by_recover ? std::vector<std::string>{} : std::vector<std::string>{"--moved"}));
    EXPECT_TRUE(serves({})) << "once is enough";
    std::filesystem::remove_all(directory_ / "run");  // the next turn's is a new cluster
  }
}

/// The one that goes on tells of the other's death, and ends in order although nothing is released any more.
TEST_F(Nodes, ThatStandStillAreKilledAndRecoveredByTheOthersAndComeBack) {
  ASSERT_EQ(granary("cluster key " + directory_ / "key").exit_code, 0);
  std::ofstream(file_) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\nkey_file = \"key\"\n"
                          "[membership]\nsession_timeout_ms = 2000\n[defaults]\nmemory = \"64MiB\"\n"
                          "data_directory = \"data\"\nreliable_directory = \"rings\"\n"
                          "[[node]]\nid = 1\n[[node]]\nid = 2\n";
  const auto stopped = start(1, /*rejoin=*/0);
  const std::string told = directory_ / "told";
  tests::CrashChild stays(std::vector<std::string>{
      "/bin/sh", "-c", "exec " GRANARY_COMMAND " node --cluster=" + file_ + " --id=2 2> " + told});
  ASSERT_TRUE(stopped->run_until("node 1 of 2 serves"));
  ASSERT_TRUE(stays.run_until("node 2 of 2 serves"));
  stopped->signal(SIGSTOP);
  ASSERT_TRUE(stopped->wait_until_stopped());
  const auto says = [&] {
    std::ifstream file(told);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto await_word = [&](const char* word) {
    for (int turn = 0; turn < 600 && says().find(word) == std::string::npos; ++turn)
      stays.run_for(std::chrono::milliseconds(100));
  };
  await_word("found dead");
  EXPECT_THAT(says(), HasSubstr("node 1 (generation 1) has just been found dead"));
  EXPECT_THAT(says(), testing::AnyOf(HasSubstr("No result is released (D stays"), HasSubstr("is recovered already")));
  EXPECT_TRUE(stopped->wait().killed) << "before anybody acts for it";
  await_word("is recovered after");
  EXPECT_THAT(says(), HasSubstr("node 1 (generation 1) is recovered after"));
  const auto back = start(1, /*rejoin=*/0);
  EXPECT_TRUE(back->run_until("node 1 of 2 serves"));
  back->signal(SIGTERM);
  EXPECT_EQ(back->wait().exit_code, 0);
  const auto begin = std::chrono::steady_clock::now();
  stays.signal(SIGTERM);
  EXPECT_EQ(stays.wait().exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace granary::cli
