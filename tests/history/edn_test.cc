// The text form of histories. Not covered: Jepsen's wider EDN (tagged literals, sets) beyond skipping unknown fields.

#include "bench/append/history/edn.h"

#include <sstream>

#include <gtest/gtest.h>

#include "bench/append/history/check.h"
#include "tests/history/history_builder.h"

namespace granary::bench::history {
namespace {

TEST(Edn, WritesJepsensForm) {
  std::ostringstream out;
  write_edn(out, HistoryBuilder().run({a(5, 1), r(5, {1}), r(6, {})}).run({a(6, -2)}, EventType::kInfo).history());
  EXPECT_EQ(out.str(),
            "{:type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil] [:r 6 nil]], :time 10, :index 0}\n"
            "{:type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]] [:r 6 []]], :time 20, :index 1}\n"
            "{:type :invoke, :process 1, :f :txn, :value [[:append 6 -2]], :time 30, :index 2}\n"
            "{:type :info, :process 1, :f :txn, :value [[:append 6 -2]], :time 40, :index 3}\n");
}

TEST(Edn, ReadsBackWhatItWrote) {
  const History history =
      HistoryBuilder().overlap({{a(1, 1), r(2, {1, 2, 3})}, {r(1, {})}}).run({a(1, 2)}, EventType::kFail).history();
  std::stringstream text;
  write_edn(text, history);
  const auto read = read_edn(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, history);
}

TEST(Edn, ReadsBackLastElementsAndSnapshots) {
  History history = HistoryBuilder().run({last(1, 0), a(1, 7), last(1, 7)}).history();
  history.back().snapshot = true;
  std::stringstream text;
  write_edn(text, history);
  EXPECT_NE(text.str().find(":f :snapshot, :value [[:last 1 nil] [:append 1 7] [:last 1 7]]"), std::string::npos)
      << text.str();
  const auto read = read_edn(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, history);
  EXPECT_EQ(without_snapshots(*read).size(), 1u);
}

/// Elle's own examples have comments between the events and behind them, fewer commas, and nil for an empty list that
/// was read.
TEST(Edn, ReadsCommentsAsElleDoes) {
  std::istringstream in(
      "; T1 ww T2 on 9\n\n  ;; T1: read by nobody\n"
      "{:index 0 :process 1 :type :invoke  :value [[:append 9 2] [:r 8 nil]]} ; asks\n"
      "{:index 1 :process 1 :type :ok      :value [[:append 9 2] [:r 8 nil]]}; is told\n"
      ";{:index 2 :process 1 :type :nonsense}");
  const auto read = read_edn(in);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_FALSE((*read)[0].ops[1].known);
  EXPECT_EQ((*read)[1].ops[1], r(8, {}));
  EXPECT_TRUE(check(*read).valid()) << check(*read).text();
}

/// A process that is killed while it writes leaves the beginning of a line.
TEST(Edn, KnowsATornEnd) {
  std::ostringstream out;
  write_edn(out, HistoryBuilder().run({a(1, 1)}).run({r(1, {1})}).history());
  const std::string whole = out.str();
  const std::size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = last_line + 1; size + 1 < whole.size(); ++size) {
    bool torn = false;
    std::istringstream in(whole.substr(0, size)), strict(whole.substr(0, size));
    const auto read = read_edn(in, &torn);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(torn) << size;
    EXPECT_EQ(read->size(), 3u);
    EXPECT_FALSE(read_edn(strict).ok()) << "whoever does not ask is told";
  }
  for (const std::size_t size : {last_line, whole.size() - 1, whole.size()}) {
    bool torn = true;
    std::istringstream in(whole.substr(0, size));
    EXPECT_TRUE(read_edn(in, &torn).ok());
    EXPECT_FALSE(torn) << size;
  }
  bool torn = false;
  std::istringstream middle(whole.substr(0, last_line - 5) + "\n" + whole.substr(last_line));
  EXPECT_FALSE(read_edn(middle, &torn).ok()) << "only the end can be torn";
}

TEST(Edn, SkipsUnknownFieldsAndOtherProcesses) {
  std::istringstream in(
      "{:index 3 :f :txn, :type :ok, :error [:oops {:a \"}\"}], :value [], :process 4, :time 9}\n\n"
      "{:type :info, :process :nemesis, :f :kill, :value :n1, :time 10, :index 4}\n");
  const auto read = read_edn(in);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].process, 4u);
  EXPECT_EQ((*read)[0].time_ns, 9u);
}

TEST(Edn, NamesTheBadLine) {
  for (const char* bad :
       {"{:type :ok", "{:type :maybe}", "{:type :ok, :value [[:cas 1 2]]}", "{:type :ok, :value [[:append 1]]}",
        "nonsense", "{:type :ok, :process -1}", "{:type :ok} x"}) {
    std::istringstream in(std::string("{:type :invoke, :process 0, :value []}\n") + bad + "\n");
    const auto read = read_edn(in);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(read.status().message().find("line 2"), std::string::npos) << read.status().message();
  }
}

TEST(Edn, SortPutsInvocationsFirstAtEqualTimes) {
  History history = {{EventType::kOk, 0, 5, {}}, {EventType::kInvoke, 1, 5, {}}, {EventType::kInvoke, 0, 1, {}}};
  sort_by_time(history);
  EXPECT_EQ(history[0].time_ns, 1u);
  EXPECT_EQ(history[1].type, EventType::kInvoke);
  EXPECT_EQ(history[2].type, EventType::kOk);
}

}  // namespace
}  // namespace granary::bench::history
