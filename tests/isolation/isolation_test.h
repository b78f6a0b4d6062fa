#pragma once
// The stage for the anomalies: two rows, x = 10 and y = 20, and transactions that are stepped through one interleaving
// on one thread. Each test runs with all transactions in one worker and with a worker for each.

#include <optional>
#include <string>
#include <string_view>

#include "tests/support/manual_database.h"

namespace granary::tests {

class Isolation : public testing::TestWithParam<std::size_t> {
 protected:
  Isolation() : db_(GetParam()), table_(db_.table("rows")) {
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }

  Transaction begin() { return db_.begin(); }

  /// The row's number; nullopt if there is no such row.
  std::optional<int> read(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table_, key, value);
    if (got == Outcome::kNotFound) return std::nullopt;
    EXPECT_EQ(got, Outcome::kOk) << name(got) << ", " << name(t.doom());
    return got == Outcome::kOk ? std::optional(std::stoi(value)) : std::nullopt;
  }
  void write(Transaction& t, std::string_view key, int number) {
    EXPECT_EQ(t.put(table_, key, std::to_string(number)), Outcome::kOk);
  }
  void insert(Transaction& t, std::string_view key, int number) {
    EXPECT_EQ(t.insert(table_, key, std::to_string(number)), Outcome::kOk);
  }
  void remove(Transaction& t, std::string_view key) { EXPECT_EQ(t.remove(table_, key), Outcome::kOk); }

  /// "x=10 y=20 " of the rows for whose number `wanted` holds.
  template <typename Wanted>
  std::string select(Transaction& t, Wanted&& wanted) {
    std::string text;
    EXPECT_TRUE(t.scan(table_, {}, [&](std::string_view key, std::string_view value) {
      if (wanted(std::stoi(std::string(value)))) text.append(key).append("=").append(value).append(" ");
      return true;
    }));
    return text;
  }
  /// What is committed, all of it.
  std::string state() {
    Transaction t = begin();
    const std::string text = select(t, [](int) { return true; });
    EXPECT_TRUE(t.commit().committed());
    return text;
  }

  static bool commits(Transaction& t) { return t.commit().committed(); }
  /// It must lose, for a reason that a retry can mend.
  static void expect_conflict(Transaction& t) {
    const CommitResult done = t.commit();
    EXPECT_FALSE(done.committed());
    EXPECT_TRUE(is_retryable(done.reason)) << name(done.reason);
  }
  static void expect_commit(Transaction& t) {
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }

  ManualDatabase db_;
  Table table_;
};

inline std::string workers_name(const testing::TestParamInfo<std::size_t>& info) {
  return info.param == 1 ? "OneWorker" : "WorkersOfTheirOwn";
}

}  // namespace granary::tests
