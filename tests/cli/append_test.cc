// `granary bench append` and `granary cluster run append`: what is left on disk of runs that are interrupted or killed,
// what is judged of it, runs whose nodes are killed again and again and come back, and what --check takes. Not here:
// whether the judge is right (tests/history), and whether the engine is (tests/stress, cluster_run_test.cc).

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "src/base/test_hooks.h"
#include "tests/cli/signalled.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::HasSubstr;

class Append : public testing::Test {
 protected:
  Ran check(const std::string& text, const std::string& flags = "") {
    std::ofstream(history_) << text;
    return granary("bench append --check=" + history_ + " " + flags);
  }
  nlohmann::json report() { return nlohmann::json::parse(contents(json_), nullptr, false); }
  /// Whether there is a history of many transactions.
  bool has_history() const {
    constexpr std::uintmax_t kBytesOfMany = 100'000;
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(history_, none);
    return !none && bytes > kBytesOfMany;
  }

  const tests::TemporaryDirectory directory_;
  const std::string history_ = directory_ / "history.edn";
  const std::string json_ = directory_ / "report.json";
  /// More transactions than there is time for.
  const std::string endless_ = "append --transactions=100000000 --history=" + history_ + " --json=" + json_ + " ";
};

constexpr const char* kGood =
    "; one after the other\n"
    "{:process 0, :type :invoke, :f :txn, :value [[:append 1 1]]}\n"
    "{:process 0, :type :ok, :f :txn, :value [[:append 1 1]]}\n"
    "{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}\n"
    "{:process 0, :type :ok, :f :txn, :value [[:r 1 [1]]]}\n";

TEST_F(Append, CheckTellsGoodWrongEmptyAndMalformedHistoriesApart) {
  const Ran good = check(kGood, "--json=" + json_);
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("strictly serializable: valid: 2 committed"));
  EXPECT_EQ(report()["Benchmark Type"], "append");
  EXPECT_TRUE(report()["granary"]["verdicts"][0]["valid"]);
  std::string stale = kGood;
  stale.replace(stale.find("[:r 1 [1]]"), 10, "[:r 1 []]");
  const Ran wrong = check(stale, "--json=" + json_);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_FALSE(report()["granary"]["verdicts"][0]["valid"]);
  EXPECT_FALSE(report()["granary"]["verdicts"][0]["anomalies"].empty());
  EXPECT_EQ(check(stale, "--serializable").exit_code, 0);
  for (const char* empty : {"", "\n; nothing\n", "{:process 0, :type :invoke, :f :txn, :value [[:append 1 1]]}\n"}) {
    const Ran nothing = check(empty);
    EXPECT_EQ(nothing.exit_code, 1) << empty;
    EXPECT_THAT(nothing.out, HasSubstr("NOTHING TO JUDGE"));
  }
  const Ran nonsense = check(std::string(kGood) + "nonsense\n");
  EXPECT_EQ(nonsense.exit_code, 2);
  EXPECT_THAT(nonsense.err, HasSubstr("line 6 is no event"));
  EXPECT_EQ(check("{:process 0, :type :ok, :f :txn, :value [[:append 1 1]]}\n").exit_code, 2)
      << "without an invocation";
  EXPECT_EQ(granary("bench append --check=" + directory_.path()).exit_code, 3);
}

TEST_F(Append, CheckLeavesOutATornEndAndSnapshots) {
  const Ran torn = check(std::string(kGood) + "{:process 0, :type :inv");
  EXPECT_EQ(torn.exit_code, 0) << torn.out << torn.err;
  EXPECT_THAT(torn.out, HasSubstr("the last line is not whole"));
  const std::string old =
      "{:process 9, :type :invoke, :f :snapshot, :value [[:r 1 nil]]}\n"
      "{:process 9, :type :ok, :f :snapshot, :value [[:r 1 []]]}\n";
  EXPECT_EQ(check(kGood + old).exit_code, 0) << "a snapshot is not strictly serializable";
  EXPECT_THAT(check(kGood + old, "--serializable").out, HasSubstr("valid: 3 committed"));
}

TEST_F(Append, FilesThatCannotBeWrittenAreToldBeforeTheRun) {
  for (const std::string flag : {"history", "snapshot_history", "json"}) {
    const Ran ran = granary("bench append --transactions=100000000 --" + flag + "=/nonexistent/x");
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr("--" + flag + "=/nonexistent/x: cannot write")) << ran.err;
  }
  const Ran full = granary("bench append --transactions=100000000 --history=/dev/full");
  EXPECT_EQ(full.exit_code, 5) << full.err;
  EXPECT_THAT(full.err, HasSubstr("the history '/dev/full' is not whole: No space left on device"));
}

TEST_F(Append, AKilledProcessLeavesItsHistory) {
  const Ran ran = granary_signalled("bench " + endless_, SIGKILL, [this](const Running&) { return has_history(); });
  EXPECT_EQ(ran.exit_code, 128 + SIGKILL) << ran.err;
  const Ran checked = granary("bench append --check=" + history_);
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("valid: "));
}

/// `timeout` signals a process, and then its group: the signal comes twice.
TEST_F(Append, AnInterruptedRunIsJudgedAndReported) {
  const Ran ran = granary_signalled(
      "bench " + endless_ + "--moves=0.3 --lasts=0.3", SIGINT, [this](const Running&) { return has_history(); },
      /*times=*/2);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("transactions, strictly serializable: valid: "));
  EXPECT_TRUE(report()["granary"]["interrupted"]);
  EXPECT_TRUE(report()["granary"]["verdicts"][0]["valid"]);
  EXPECT_EQ(granary("bench append --check=" + history_).exit_code, 0);
}

/// Records are removed and born again, and written without being read.
TEST_F(Append, ListsThatMoveAndBlindWrites) {
  for (const char* index : {"ordered", "hash --scans=0"}) {
    const Ran ran =
        granary(std::string("bench append --transactions=20000 --keys=3 --max_length=12 --yields=0.1 --moves=0.5 "
                            "--lasts=0.4 --index=") +
                index);
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  }
}

class AppendOnNodes : public Append {
 protected:
  AppendOnNodes() {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n"
                            "[defaults]\nmemory = \"64MiB\"\n[[node]]\nid = 1\n[[node]]\nid = 2\n[[node]]\nid = 3\n";
  }
  const std::string file_ = directory_ / "cluster.toml";
};

TEST_F(AppendOnNodes, MovesAndBlindWritesAreReportedInJson) {
  const Ran ran =
      granary("cluster run append --cluster=" + file_ +
              " --workers=1 --transactions=1500 --keys=2 --max_length=20 --moves=0.4 --lasts=0.4 --json=" + json_);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_TRUE(report()["granary"]["whole"]);
  EXPECT_TRUE(report()["granary"]["verdicts"][0]["valid"]);
  EXPECT_GT(report()["granary"]["cluster"]["attempts"].get<std::uint64_t>(), 0u);
}

/// One of three nodes is killed while all work.
TEST_F(AppendOnNodes, HistoriesAreKeptAndJudgedWhenANodeDies) {
  const std::string out = directory_ / "out";
  const std::string script =
      "export TMPDIR=" + directory_.path() + "; " GRANARY_COMMAND " cluster run " + endless_ +
      "--workers=1 --cluster=" + file_ + " >" + out + " 2>&1 & run=$!; " +
      // Until all of them have noted something.
      "for turn in $(seq 600); do sleep 0.1; [ $(find " + directory_.path() +
      "/granary-bench-$run -name 'node-?.json' -size +40k 2>/dev/null | wc -l) = 3 ] && break; done; "
      "kill -9 $(pgrep -P $run -f -- --node=2); wait $run";
  const int status = std::system(("bash -c '" + script + "'").c_str());
  const std::string said = contents(out);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3) << said;
  EXPECT_THAT(said, HasSubstr("node 2 was killed by signal 9"));
  EXPECT_THAT(said, HasSubstr("transactions, strictly serializable: valid: "));
  EXPECT_FALSE(report()["granary"]["whole"]);
  EXPECT_TRUE(report()["granary"]["verdicts"][0]["valid"]);
  EXPECT_LE(report()["granary"]["verdicts"][0]["unknown"].get<int>(), 1) << "no more than the dead node had open";
  EXPECT_EQ(granary("bench append --check=" + history_).exit_code, 0);
}

/// The command is killed, and its nodes end with it. What they have noted can still be judged.
TEST_F(AppendOnNodes, HistoriesStayWhenTheCommandIsKilled) {
  const std::string scratch = directory_ / "scratch";
  std::filesystem::create_directories(scratch);
  const std::string script =
      "export TMPDIR=" + scratch + "; " GRANARY_COMMAND " cluster run " + endless_ + "--workers=1 --cluster=" + file_ +
      " >/dev/null 2>&1 & run=$!; for turn in $(seq 600); do sleep 0.1; [ $(find " + scratch +
      "/granary-bench-$run -name 'node-?.json' -size +40k 2>/dev/null | wc -l) = 3 ] && break; done; "
      "nodes=$(pgrep -P $run); kill -9 $run; wait $run; "
      // Until its nodes, and whoever else it has started, have ended.
      "for turn in $(seq 600); do sleep 0.1; kill -0 $nodes 2>/dev/null || break; done; sleep 0.3";
  const int status = std::system(("bash -c '" + script + "'").c_str());
  EXPECT_TRUE(WIFEXITED(status));
  std::size_t histories = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch)) {
    if (!entry.path().filename().string().starts_with("node-") || entry.file_size() < 40'000) continue;
    ++histories;
    const Ran checked = granary("bench append --check=" + entry.path().string());
    // A node's history alone has reads of other nodes' elements, so it may be found invalid, but it has to be a
    // history.
    EXPECT_TRUE(checked.exit_code == 0 || checked.exit_code == 1) << checked.out << checked.err;
  }
  EXPECT_EQ(histories, 3u);
}

class AppendOnKilledNodes : public Append {
 protected:
  void write_file(const std::string& defaults) const {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n"
                            "[defaults]\nmemory = \"256MiB\"\n"
                         << defaults << "[[node]]\nid = 1\n[[node]]\nid = 2\n[[node]]\nid = 3\n";
  }
  Ran run(const std::string& flags) const {
    return granary("cluster run append --workers=1 --cluster=" + file_ + " " + flags);
  }
  /// The history goes on through so many deaths, and is valid. Nodes have `clients` each.
  void run_through(std::uint64_t kills, const std::string& flags, std::uint64_t clients = 1) {
    write_file("data_directory = \"data\"\nreliable_directory = \"rings\"\n");
    const Ran ran =
        run(fmt::format("--kills={} --think=500 --keys=4 --max_length=12 --verify --history={} --json={} {}", kills,
                        history_, json_, flags));
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("{} times a node was killed and came back", kills)));
    const nlohmann::json verdict = report()["granary"]["verdicts"][0];
    EXPECT_TRUE(verdict["valid"]);
    EXPECT_LE(verdict["unknown"].get<std::uint64_t>(), kills * clients) << "no more than the dead had open";
    EXPECT_GT(verdict["committed"].get<std::uint64_t>(), 20 * kills);
    EXPECT_EQ(report()["granary"]["kills"], kills);
    EXPECT_TRUE(report()["granary"]["whole"]);
    EXPECT_EQ(granary("bench append --check=" + history_).exit_code, 0);
    for (const char* node : {"node-1", "node-2", "node-3"})
      EXPECT_TRUE(std::filesystem::is_empty(directory_ / "data/" + node)) << "what the run has made is removed";
  }
  const std::string file_ = directory_ / "cluster.toml";
};

/// A hundred times in scripts/test.sh --full.
TEST_F(AppendOnKilledNodes, ComeBackAndTheHistoryGoesOn) {
  run_through(std::min<std::uint64_t>(tests::scaled(5), 100), "--index=hash --scans=0 --moves=0.2 --lasts=0.2");
}

TEST_F(AppendOnKilledNodes, ComeBackToClientsThatWaitForReleasesAndLock) {
  run_through(std::min<std::uint64_t>(tests::scaled(2), 40), "--protocol=lease_2pl --outcomes=released --seed=2");
}

TEST_F(AppendOnKilledNodes, ComeBackByTicToc) {
  run_through(std::min<std::uint64_t>(tests::scaled(2), 40), "--protocol=tictoc --outcomes=released --seed=3");
}

TEST_F(AppendOnKilledNodes, ComeBackByDrTm) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  run_through(std::min<std::uint64_t>(tests::scaled(2), 40),
              "--protocol=drtm --htm=sim --index=hash --scans=0 --seed=4");
}

TEST_F(AppendOnKilledNodes, ComeBackWithFibers) {
  run_through(std::min<std::uint64_t>(tests::scaled(2), 40), "--fibers=3 --outcomes=released --seed=5", 3);
}

TEST_F(AppendOnKilledNodes, AreRefusedWhereNobodyWouldComeBack) {
  const auto expect_refused = [&](const std::string& flags, const std::string& says) {
    const Ran ran = run(flags);
    EXPECT_EQ(ran.exit_code, 2) << flags << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(says)) << flags;
  };
  write_file("");
  expect_refused("--kills=3", "--kills=3: node 1 keeps nothing that could be recovered");
  write_file("data_directory = \"data\"\n");
  expect_refused("--kills=3 --transactions=10", "--kills=3: the run ends when the last killed node is back");
  expect_refused("--kills=3 --seconds=10", "leave --seconds out");
  const Ran alone = granary("bench append --kills=3");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("use 'granary cluster run append'"));
  std::filesystem::create_directories(directory_ / "data/node-2");
  std::ofstream(directory_ / "data/node-2/mine") << "data";
  const Ran other_data = run("--kills=1");
  EXPECT_EQ(other_data.exit_code, 3) << other_data.err;
  EXPECT_THAT(other_data.err, HasSubstr("data/node-2' is not empty"));
}

}  // namespace
}  // namespace granary::cli
