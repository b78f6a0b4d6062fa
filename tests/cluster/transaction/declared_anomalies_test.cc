// The anomalies by transactions that declare what they do (lease_2pl), beside each other and beside optimistic ones;
// while leases last, and when time has passed in between, so that others have found them expired. Who declares and what
// time does are tried in all ways in each case. Phantoms are not here: what is declared are keys.

#include "tests/cluster/transaction/anomalies.h"

namespace granary::cluster::test {
namespace {

class DeclaredAnomalies : tests::WithLeasesAlone, public AcrossAnomalies {
 protected:
  struct Way {
    bool one_declares, two_declares;
    bool time_passes;
  };
  static constexpr Way kWays[] = {{true, true, false}, {true, false, false}, {false, true, false},
                                  {true, true, true},  {true, false, true},  {false, true, true}};

  /// Each from the start: x is 10, y is 20, and no lease is there. In some way somebody commits.
  void in_all_ways(FunctionRef<void(const Way&)> history) {
    for (const Way& way : kWays) {
      SCOPED_TRACE(testing::Message() << "one declares: " << way.one_declares << ", two: " << way.two_declares
                                      << ", time passes: " << way.time_passes);
      pass_leases();
      run(0, [&](Transaction& t) {
        set(t, 0, "0x", "10");
        set(t, 0, "1y", "20");
      });
      history(way);
    }
    EXPECT_GT(committed_, 0u);
  }
  void pass_leases() { cluster_.set_time(now_us_ += 2 * SimCluster::kLeaseIsThere); }
  void maybe_pass_leases(const Way& way) {
    if (way.time_passes) pass_leases();
  }

  using Keys = std::vector<std::string_view>;
  /// What it returns shows in the end, as of any operation.
  void declare(Transaction& t, std::size_t node, const Keys& reads, const Keys& writes) {
    std::vector<Declared> keys;
    for (const std::string_view key : reads) keys.push_back({tables_[node], key, false});
    for (const std::string_view key : writes) keys.push_back({tables_[node], key, true});
    (void)t.declare(keys);
  }
  void declare_one(const Way& way, Transaction& t, const Keys& reads, const Keys& writes) {
    if (way.one_declares) declare(t, at().one, reads, writes);
  }
  void declare_two(const Way& way, Transaction& t, const Keys& reads, const Keys& writes) {
    if (way.two_declares) declare(t, at().two, reads, writes);
  }
  bool commits(Transaction& t) {
    const bool committed = !conflicts(t.commit());
    if (committed) ++committed_;
    return committed;
  }

 private:
  std::uint64_t now_us_ = 1'000'000;
  std::uint64_t committed_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Nodes, DeclaredAnomalies, all_coordinators(), coordinators_name);

TEST_P(DeclaredAnomalies, G1cCircularInformationFlow) {
  in_all_ways([&](const Way& way) {
    Transaction one = begin_one();
    Transaction two = begin_two();
    declare_one(way, one, {"1y"}, {"0x"});
    set_one(one, "0x", "11");
    set_two(two, "1y", "22");
    (void)get_one(one, "1y");
    maybe_pass_leases(way);
    declare_two(way, two, {"0x"}, {"1y"});
    (void)get_two(two, "0x");
    const bool first = commits(one);
    const bool second = commits(two);
    EXPECT_FALSE(first && second);
  });
}

TEST_P(DeclaredAnomalies, P4LostUpdate) {
  in_all_ways([&](const Way& way) {
    Transaction one = begin_one();
    Transaction two = begin_two();
    declare_one(way, one, {}, {"0x"});
    (void)get_one(one, "0x");
    maybe_pass_leases(way);  // an x-lock has no end
    declare_two(way, two, {}, {"0x"});
    (void)get_two(two, "0x");
    set_two(two, "0x", "12");
    set_one(one, "0x", "11");
    const bool second = commits(two);
    const bool first = commits(one);
    EXPECT_FALSE(first && second);
    EXPECT_EQ(now(), first ? "11 20" : second ? "12 20" : "10 20");
  });
}

/// One declares each key when it comes to it, so that they are leased at different times.
TEST_P(DeclaredAnomalies, GSingleReadSkew) {
  in_all_ways([&](const Way& way) {
    Transaction one = begin_one();
    declare_one(way, one, {"0x"}, {});
    EXPECT_EQ(get_one(one, "0x"), "10");
    maybe_pass_leases(way);
    Transaction two = begin_two();
    declare_two(way, two, {}, {"0x", "1y"});
    set_two(two, "0x", "12");
    set_two(two, "1y", "18");
    const bool second = commits(two);
    EXPECT_TRUE(second || !way.time_passes);
    declare_one(way, one, {"1y"}, {});
    const std::string y = get_one(one, "1y");
    EXPECT_FALSE(commits(one) && second) << "though it only reads; it saw " << y;
  });
}

/// Only what is read is declared.
TEST_P(DeclaredAnomalies, G2ItemWriteSkew) {
  in_all_ways([&](const Way& way) {
    Transaction one = begin_one();
    Transaction two = begin_two();
    declare_one(way, one, {"1y"}, {});
    declare_two(way, two, {"0x"}, {});
    EXPECT_EQ(get_one(one, "1y"), "20");
    EXPECT_EQ(get_two(two, "0x"), "10");
    set_one(one, "0x", "11");
    maybe_pass_leases(way);
    const bool first = commits(one);
    set_two(two, "1y", "21");
    const bool second = commits(two);
    EXPECT_FALSE(first && second);
  });
}

/// Two, which writes last, declares what it only reads; what it writes it has read before.
TEST_P(DeclaredAnomalies, FeketesReadOnlyTransaction) {
  in_all_ways([&](const Way& way) {
    Transaction two = begin_two();
    declare_two(way, two, {"1y"}, {});
    EXPECT_EQ(get_two(two, "0x"), "10");
    EXPECT_EQ(get_two(two, "1y"), "20");
    maybe_pass_leases(way);
    Transaction one = begin_one();
    declare_one(way, one, {}, {"1y"});
    set_one(one, "1y", "40");
    const bool first = commits(one);
    EXPECT_TRUE(first || !way.time_passes);
    Transaction three = begin(2);
    if (way.one_declares) declare(three, 2, {"0x", "1y"}, {});
    EXPECT_EQ(get(three, 2, "0x"), "10");
    EXPECT_EQ(get(three, 2, "1y"), first ? "40" : "20");
    EXPECT_TRUE(commits(three));
    set_two(two, "0x", "-11");
    EXPECT_FALSE(commits(two) && first);
  });
}

/// The forks are seen from where one and two run; each key is declared when it is read.
TEST_P(DeclaredAnomalies, LongFork) {
  in_all_ways([&](const Way& way) {
    Transaction three = begin_one();
    Transaction four = begin_two();
    declare_one(way, three, {"1y"}, {});
    declare_two(way, four, {"0x"}, {});
    EXPECT_EQ(get_one(three, "1y"), "20");
    EXPECT_EQ(get_two(four, "0x"), "10");
    maybe_pass_leases(way);
    const auto write = [&](std::size_t node, std::string_view key) {
      Transaction t = begin(node);
      set(t, node, key, "1");
      EXPECT_TRUE(commits(t) || !way.time_passes);
    };
    write(0, "0x");
    write(2, "1y");
    declare_one(way, three, {"0x"}, {});
    declare_two(way, four, {"1y"}, {});
    const std::string x = get_one(three, "0x");
    const std::string y = get_two(four, "1y");
    const bool third = commits(three);
    const bool fourth = commits(four);
    EXPECT_FALSE(third && x == "1" && fourth && y == "1") << "the forks cannot both be";
  });
}

/// Clocks that are wrong by an hour, and do not know it, may keep writers away, or let them in where a lease is there
/// still; who reads after a commit sees it.
TEST_P(DeclaredAnomalies, RealTimeByClocksThatAreWrong) {
  constexpr std::int64_t kHour = 3'600'000'000;
  constexpr int kHoursOff[][3] = {{1, 0, -1}, {-1, 1, 0}, {0, -1, 1}};
  std::string last[] = {"10", "20"};
  std::int64_t time_us = 0;
  for (const auto& hours_off : kHoursOff) {
    time_us += 4 * kHour;
    for (std::size_t node = 0; node < 3; ++node) {
      const std::int64_t clock_us = time_us + hours_off[node] * kHour;
      cluster_.node(node).time().write(static_cast<std::uint64_t>(clock_us), 0, SimCluster::kClockError);
    }
    for (int i = 0; i < 30; ++i) {
      const std::size_t which = i % 2 == 0 ? 0 : 1;
      const std::string_view key = which == 0 ? "0x" : "1y";
      const Way way{.one_declares = i % 3 == 0, .two_declares = i % 5 == 0 || i >= 20, .time_passes = false};
      const std::string value = std::to_string(100 + i);
      Transaction one = begin_one();
      declare_one(way, one, {}, {key});
      set_one(one, key, value);
      if (commits(one)) last[which] = value;
      EXPECT_TRUE(i != 0 || last[which] == value) << "no lease is there yet";
      Transaction two = begin_two();
      declare_two(way, two, {key}, {});
      EXPECT_EQ(get_two(two, key), last[which]);
      EXPECT_TRUE(commits(two));
    }
  }
}

}  // namespace
}  // namespace granary::cluster::test
