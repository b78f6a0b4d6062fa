// Snapshots and transactions against a model: a random program of puts, growing puts, removals, epochs, collections and
// snapshots of all ages on one thread, and a std::map for the state after each epoch. Every seed replays exactly.

#include <map>
#include <optional>
#include <random>

#include "tests/support/manual_database.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

using State = std::map<std::string, std::string>;

class Model {
 public:
  Model(unsigned seed, const Options& options, const TableOptions& table)
      : random_(seed),
        db_(3, options),
        table_(db_.table("rows", table)) {}

  void run(int turns) {
    for (int turn = 0; turn < turns && !testing::Test::HasFailure(); ++turn) {
      switch (random_() % 10) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: write(); break;
        case 5: db_.pass_epochs(1 + random_() % 3); break;
        case 6: db_.worker(random_()).collect_garbage(); break;
        case 7: open(); break;
        case 8: check_snapshots(); break;
        case 9: check_present(); break;
      }
    }
    snapshots_.clear();
    db_.collect_everything();
    check_present();
    EXPECT_EQ(db_->statistics().version_bytes, 0u);
  }

 private:
  std::string random_key() {
    const unsigned number = static_cast<unsigned>(random_() % 24);
    return (number % 3 == 0 ? "a prefix of some layers " : "k") + std::to_string(number);
  }
  std::string random_value() {
    const std::size_t size = random_() % 4 == 0 ? random_() % 3000 : random_() % 60;
    return std::string(size, static_cast<char>('a' + random_() % 26));
  }

  void write() {
    State after = now_;
    Transaction t = db_.begin();
    for (unsigned op = 0; op <= random_() % 4; ++op) {
      const std::string key = random_key();
      if (random_() % 3 == 0) {
        EXPECT_EQ(t.remove(table_, key), after.erase(key) == 0 ? Outcome::kNotFound : Outcome::kOk);
      } else {
        after[key] = random_value();
        EXPECT_EQ(t.put(table_, key, after[key]), Outcome::kOk);
      }
    }
    if (random_() % 8 == 0) return;  // dropped: aborted
    const CommitResult done = t.commit();
    ASSERT_TRUE(done.committed()) << name(done.reason);
    if (done.ticket.tid == 0) return;  // it has changed nothing, and may be serial in an epoch that is over
    now_ = after;
    after_epoch_[done.ticket.epoch] = after;
  }

  void open() {
    constexpr std::size_t kMostOpen = 8;
    if (snapshots_.size() >= kMostOpen)
      snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(random_() % snapshots_.size()));
    Snapshot snapshot = db_.snapshot();
    const auto later = after_epoch_.lower_bound(snapshot.epoch());
    State expected = later == after_epoch_.begin() ? State{} : std::prev(later)->second;
    snapshots_.push_back({std::move(snapshot), std::move(expected)});
  }

  template <typename Reader>
  void compare(Reader& reader, const State& expected) {
    State seen;
    const Order order = random_() % 2 == 0 ? Order::kAscending : Order::kDescending;
    EXPECT_TRUE(reader.scan(table_, {.order = order}, [&](std::string_view key, std::string_view value) {
      EXPECT_TRUE(seen.emplace(key, value).second);
      return true;
    }));
    ASSERT_EQ(seen, expected);
    const std::string key = random_key();
    std::string value;
    const auto found = expected.find(key);
    ASSERT_EQ(reader.get(table_, key, value), found == expected.end() ? Outcome::kNotFound : Outcome::kOk);
    if (found != expected.end()) {
      ASSERT_EQ(value, found->second);
    }
  }
  void check_snapshots() {
    for (auto& [snapshot, expected] : snapshots_) compare(snapshot, expected);
  }
  void check_present() {
    Transaction t = db_.begin();
    compare(t, now_);
    EXPECT_TRUE(t.commit().committed());
  }

  struct Open {
    Snapshot snapshot;
    State expected;
  };
  std::mt19937 random_;
  ManualDatabase db_;
  Table table_;
  State now_;
  std::map<std::uint64_t, State> after_epoch_;  // the state at the end of each epoch that had a commit
  std::vector<Open> snapshots_;
};

class SnapshotModel : public testing::TestWithParam<const char*> {};

TEST_P(SnapshotModel, AgreesWithTheMapOfEachEpoch) {
  const std::string_view variant = GetParam();
  std::optional<WithSharedTables> shared;
  if (variant == "SharedTable") shared.emplace();
  std::optional<WithGlobalTids> global;
  if (variant == "GlobalTids") global.emplace();
  Options options = manual_options();
  TableOptions table;
  if (variant == "SharedTable") table = {.max_value_bytes = 3000, .shared = true};
  if (variant == "Replacing") options.overwrite_in_place = false;
  if (variant == "SimpleAllocator") options.simple_allocator = true;
  if (variant == "GlobalTids") options.tid_source = TidSource::kGlobal;
  if (variant == "SnapshotEveryEpoch") options.snapshot_epochs = 1;
  for (const std::uint64_t seed : seeds(10, 0)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model(static_cast<unsigned>(seed), options, table).run(1200);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Variants, SnapshotModel,
                         testing::Values("Default", "Replacing", "SimpleAllocator", "GlobalTids", "SnapshotEveryEpoch",
                                         "SharedTable"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace
}  // namespace granary::tests
