// The text form of histories. Not covered: Jepsen's wider EDN (tagged literals, sets) beyond skipping unknown fields.

#include "bench/append/history/edn.h"

#include <sstream>

#include <gtest/gtest.h>

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
