// A node that is killed anywhere in a commit while the others go on: they free what it held, all or nothing of its
// transaction is there, results are released again, and the node comes back alone. The dead node is the transaction's
// coordinator, also when it leads the epochs, or a participant, or both die together; or a second node dies while it
// recovers the first one, so that the third finds its work half done.
//
// scripts/test.sh --full takes each point with each role; else the roles but the coordinator's take turns. Second
// deaths at each step of a recovery, under load, are in second_death_test.cc.

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "src/txn/table_core.h"
#include "tests/node/counters.h"
#include "tests/node/crash.h"
#include "tests/node/crash_points.h"
#include "tests/node/crash_setting.h"
#include "tests/node/snapshots.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary {
namespace {

using tests::Branch;
using tests::CrashChild;
using tests::Fate;
using tests::first_of;
using tests::HeldSnapshot;
using tests::kBankNodes;
using tests::kCounters;
using tests::kKeys;
using tests::Locking;
using tests::NewSnapshots;
using tests::Point;
using tests::Setting;
using Clock = std::chrono::steady_clock;

/// Who dies.
enum class Role : std::uint8_t {
  kCoordinator,
  kLeader,       ///< of epochs, who is the coordinator
  kParticipant,  ///< while the coordinator stands at the point
  kRecoverer,    ///< of a coordinator that died at the point
  kBoth,         ///< the coordinator at the point, and a participant at the same moment
};
constexpr std::array<const char*, 5> kRoleNames{"coordinator", "leader", "participant", "recoverer", "both"};
/// Who dies with the coordinator.
constexpr NodeNumber kDiesToo = 3;

struct Case {
  std::uint64_t number = 0;  ///< of the point
  Point point;
  Role role = Role::kCoordinator;
  bool apart = false;  ///< the nodes do not see each other's directories
};
std::string name_of(const testing::TestParamInfo<Case>& info) {
  const std::string role = kRoleNames[static_cast<std::size_t>(info.param.role)];
  return tests::name_of(info.param.point.death) + "_" + role + (info.param.apart ? "_apart" : "");
}
void PrintTo(const Case& one, std::ostream* out) { *out << tests::name_of(one.point.death); }

/// Where nobody else sees the directories there is no other recoverer than the node itself.
std::vector<Case> cases() {
  std::vector<Point> points = tests::coordinators_points();
  points.push_back({tests::participants_points().back().death, Fate::kDecided});
  std::ranges::copy(tests::points_of_old_versions(), std::back_inserter(points));
  const bool all = tests::scaled(1) > 1;
  std::vector<Case> cases;
  for (std::uint64_t number = 0; number < points.size(); ++number) {
    constexpr std::uint64_t kTurns = 3;
    for (const Role role : {Role::kCoordinator, Role::kLeader, Role::kParticipant, Role::kRecoverer, Role::kBoth}) {
      const bool has_turn = role == Role::kCoordinator || number % kTurns == static_cast<std::uint64_t>(role) % kTurns;
      if (all || has_turn) cases.push_back({number, points[number], role});
    }
    const bool takes_own = tests::name_of(points[number].death) == "across_locked" || number % 4 == 2;
    for (const Role role : {Role::kCoordinator, Role::kLeader, Role::kParticipant}) {
      if (all || (takes_own && role == Role::kCoordinator)) cases.push_back({number, points[number], role, true});
    }
  }
  return cases;
}

/// Accounts of this node that are locked by anybody.
std::size_t locked_accounts(const Branch& branch) {
  std::size_t locked = 0;
  const std::uint64_t first = first_of(branch.cluster->node());
  for (std::uint64_t account = first; account < first + kKeys; ++account) {
    const auto found = branch.accounts.core()->index().find(encode_key(account));
    const auto& record = *reinterpret_cast<record::Record*>(found.value);
    if (record::is_x_locked(record::shared_of(record).state())) ++locked;
  }
  return locked;
}

/// A cluster of which some nodes die while the others go on, and come back.
class GoingOn : public tests::Crash {
 public:
  GoingOn(const Setting& setting, const Case& test)
      : Crash(setting, test.apart ? "directories = \"apart\"\n" : ""),
        test_(test) {}

  /// Is killed while it recovers another node, if a recoverer is to die: in the middle of what it does at the others,
  /// or behind that.
  CrashChild::Body survivor(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      if (test_.role == Role::kRecoverer) base::set_process_sync_hook(death_of_recoverer(node));
      if (test_.role == Role::kBoth && node == kDiesToo) std::thread([this] { die_with_coordinator(); }).detach();
      bystander(node)(report);
    };
  }
  /// Comes back to the others, which serve, and uses all accounts.
  CrashChild::Body next_life(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch = open(node, /*load=*/false);
      if (testing::Test::HasFailure()) return;
      report(surely([&] { return tests::look(branch); }));
      ++shared_.looked;
      // Those that are back count, which none of the others may take for something of the dead.
      (void)tests::comes_true([&] { return shared_.looked == kBankNodes; });
      report(surely([&] { return tests::write_all(branch); }));
      ++shared_.back;
      end(branch, report);
    };
  }

  /// All who were to die have died.
  void go_on_without(const std::vector<NodeNumber>& dead) {
    for (const NodeNumber node : dead) shared_.dead[node] = true;
    shared_.deaths = static_cast<unsigned>(dead.size());
  }
  [[nodiscard]] bool survivors_have_looked() const {
    return tests::comes_true([this] { return shared_.looked + shared_.deaths == kBankNodes; });
  }
  /// At the end: of how many dead nodes it was told, by the nodes that recovered them, what they had left. More if that
  /// is not right.
  unsigned recoveries() const { return shared_.recoveries; }
  /// The recoverer that has died, 0 if none has within a minute.
  NodeNumber dead_recoverer() const {
    (void)tests::comes_true([this] { return shared_.recoverer != 0; });
    return shared_.recoverer;
  }

 protected:
  /// Both others begin a snapshot that has to show older versions than those which the coordinator will overwrite.
  void before_last() override {
    shared_.holds = true;
    EXPECT_TRUE(tests::comes_true([this] { return shared_.held == kBankNodes - 1; }));
  }
  /// At every other point the participant is the first of both.
  void before_death() override {
    if (test_.role != Role::kBoth) return;
    shared_.dies = true;
    if (test_.number % 2 != 0) (void)tests::comes_true([this] { return shared_.dies_too.load(); });
  }
  ClusterOptions options(NodeNumber node) const override {
    ClusterOptions options = Crash::options(node);
    options.recovers_others = true;
    return options;
  }
  /// Commits all the time; reports what is there when all that the dead held is free again, and once more when they are
  /// back.
  void stay(Branch& branch, const CrashChild::Report& report) override {
    new_snapshots_.emplace(branch);
    while (shared_.deaths == 0) {
      use(branch);
      if (!shared_.holds || held_ || shared_.held == kBankNodes - 1) continue;
      held_.emplace(branch);
      ++shared_.held;
    }
    report(go_on(branch));
    ++shared_.looked;
    while (shared_.back < shared_.deaths) use(branch);
    if (held_) (void)held_->look_again({});
    held_.reset();
    end(branch, report);
  }

 private:
  struct Shared {
    std::array<std::atomic<bool>, kBankNodes + 1> dead{};
    std::atomic<unsigned> deaths{0};                 ///< of which this was told; 0: not yet
    std::atomic<NodeNumber> recoverer{0};            ///< who died as such
    std::atomic<bool> dies{false}, dies_too{false};  ///< the coordinator, and the participant with it
    std::atomic<unsigned> looked{0}, back{0}, ended{0};
    std::atomic<bool> holds{false};  ///< snapshots are to be held from now on
    std::atomic<unsigned> held{0};
    std::atomic<unsigned> recoveries{0};  ///< that their nodes tell of with the right figures
  };

  void die_with_coordinator() {
    while (!shared_.dies) std::this_thread::sleep_for(std::chrono::microseconds(50));
    shared_.dies_too = true;
    tests::die();
  }
  base::SyncHook death_of_recoverer(NodeNumber node) {
    const std::uint64_t last = test_.number % 8;  // operation at other nodes
    return [this, node, last](std::string_view at) {
      thread_local bool recovers = false;
      thread_local std::uint64_t passed = 0;
      if (at == "recovery.opened") recovers = true;
      const bool there = at == "recovery.settled" || (at == "shm.operation" && recovers && passed++ == last);
      NodeNumber nobody = 0;
      if (there && shared_.recoverer.compare_exchange_strong(nobody, node)) tests::die();
    };
  }
  /// With a pause, as all processes of a case share few cores.
  static void touch_all(Branch& branch) {
    for (NodeNumber node = 1; node <= kBankNodes; ++node) (void)touch(branch, node);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  /// Now and then looks at what snapshots show.
  void use(Branch& branch) {
    touch_all(branch);
    if (++used_ % 16 == 0) (void)new_snapshots_->look();
  }
  /// Returns what the living nodes' counters show, or what is wrong.
  std::string go_on(Branch& branch) {
    constexpr unsigned kSome = 20;
    std::vector<NodeNumber> living;
    for (NodeNumber node = 1; node <= kBankNodes; ++node) {
      if (!shared_.dead[node]) living.push_back(node);
    }
    (void)new_snapshots_->look();
    if (held_) (void)held_->look_again({});
    for (unsigned i = 0; i < kSome; ++i) {
      if (!surely_touch(branch, branch.cluster->node()).committed()) return "stands still";
    }
    if (!tests::comes_true([&] { return locked_accounts(branch) == 0; }, std::chrono::seconds(20))) return "locked";
    const std::string shown = surely([&] { return tests::look(branch, living); });
    for (const NodeNumber node : living) {
      const RunResult written = surely_touch(branch, node);
      if (!written.committed()) return fmt::format("node {} cannot be written", node);
      const Status released = branch.cluster->database().wait_released(written.ticket);
      if (!released.ok()) return released.message();
    }
    (void)new_snapshots_->look();
    if (held_ && !tests::comes_true([&] { return held_->look_again(living); }, std::chrono::seconds(20)))
      return "a snapshot does not show what it has shown";
    return shown;
  }
  /// What it returns once nothing is in the way any more, such as a node that has yet to come back.
  static std::string surely(const std::function<std::string()>& ask) {
    std::string answer = ask();
    for (const auto end = Clock::now() + std::chrono::minutes(1); answer.starts_with("cannot") && Clock::now() < end;)
      answer = ask();
    return answer;
  }
  void end(Branch& branch, const CrashChild::Report& report) {
    (void)tests::comes_true([&] { return shared_.back == shared_.deaths; });
    const std::string counted = surely([&] { return tests::look(branch); });
    report(counted);
    NewSnapshots snapshots(branch);
    const auto shows_it = [&] {
      const tests::Balances shown = snapshots.look();
      return tests::shows_all(shown) && std::to_string(*shown[0] - tests::kMoney) == counted;
    };
    EXPECT_TRUE(tests::comes_true(shows_it)) << "snapshots stay behind";
    for (const NodeRecovery& one : branch.cluster->recoveries()) shared_.recoveries += is_as_it_should(one) ? 1 : 100;
    ++shared_.ended;
    (void)tests::comes_true([&] { return shared_.ended == kBankNodes; });
    leave(branch, report);
  }

  /// What the node that recovered a dead one tells of it. What others than a coordinator had under way is not known.
  bool is_as_it_should(const NodeRecovery& one) const {
    const RecoveryWork& work = one.work;
    const bool over = one.generation == 1 && one.phase == NodeRecovery::Phase::kRecovered && one.here &&
                      work.waited_us > 0 && work.opened_us > 0 && work.settled_us > 0 && work.adopted_us > 0;
    if (test_.role != Role::kCoordinator && test_.role != Role::kLeader) return over && shared_.dead[one.node];
    const bool decided = test_.point.fate != Fate::kUndecided;
    const std::uint64_t open = decided ? work.redone_transactions : work.undone_transactions;
    const std::uint64_t records = work.freed_records + work.redone_records + work.settled_before;
    return over && one.node == (test_.role == Role::kLeader ? 1 : 2) && may_be_open(open) &&
           (decided ? work.undone_transactions : work.redone_transactions) == 0 && (records > 0) == (open > 0) &&
           work.gone_records == 0;
  }
  /// Whether so many transactions may have been under way at the point.
  bool may_be_open(std::uint64_t transactions) const {
    const std::string& point = test_.point.death.point;
    if (point.starts_with("logger.")) return transactions <= 1;  // another thread goes on meanwhile
    const bool over = point == "across.written_back" || point == "test.released";
    // The leaves of an ordered table are READ before anything is locked, which takes more operations than four.
    const bool at_leaves = point == "shm.operation" && test_.point.death.after == "test.locks" &&
                           setting().index == IndexKind::kOrdered && setting().locking != Locking::kAtCommit;
    const bool begun = (point != "test.executed" || setting().locking != Locking::kAtCommit) && !at_leaves;
    return transactions == (begun && !over ? 1 : 0);
  }

  const Case test_;
  Shared& shared_ = tests::map_shared<Shared>();
  // A survivor's process has these.
  std::optional<NewSnapshots> new_snapshots_;
  std::optional<HeldSnapshot> held_;
  unsigned used_ = 0;
};

class Recover : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }
  static bool is(Role role) { return GetParam().role == role; }

  /// Starts all, and kills who is to die. Returns them, and what the coordinator has told.
  void let_die(GoingOn& nodes, const Setting& setting) {
    const Point& point = GetParam().point;
    const NodeNumber coordinator = is(Role::kLeader) ? 1 : 2;
    const NodeNumber victim = is(Role::kParticipant) ? (setting.leader_dies ? 1 : 3) : coordinator;
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      CrashChild::Body body = nodes.survivor(id);
      if (id == coordinator) {
        body = is(Role::kParticipant) ? nodes.standing_coordinator(id, point.death)
                                      : nodes.dying_coordinator(id, point.death);
      }
      children_[id] = std::make_unique<CrashChild>(body);
    }
    for (NodeNumber id = 1; id <= kBankNodes; ++id) ASSERT_TRUE(children_[id]->run_until("runs"));
    nodes.begin();
    dead_ = {victim};
    if (is(Role::kParticipant)) {
      ASSERT_TRUE(children_[coordinator]->run_until("stands"));
      children_[victim]->kill();
      nodes.somebody_died();
      ASSERT_TRUE(children_[coordinator]->run_until("has ended"));
    } else {
      ASSERT_TRUE(children_[victim]->wait().killed) << children_[victim]->lines().back();
    }
    told_ = tests::read(children_[coordinator]->lines());
    if (!is(Role::kRecoverer) && !is(Role::kBoth)) return;
    dead_.push_back(is(Role::kBoth) ? kDiesToo : nodes.dead_recoverer());
    ASSERT_NE(dead_.back(), 0) << "nobody recovers";
    ASSERT_TRUE(children_[dead_.back()]->wait().killed);
  }
  /// What the counters are to show.
  std::uint64_t expected(const Setting& setting) const {
    const std::uint64_t last = setting.rounds + 2;
    const bool decided = GetParam().point.fate != Fate::kUndecided;
    if (is(Role::kParticipant)) {  // it goes on, or has been told that it has not committed
      EXPECT_TRUE(!decided || told_.epochs.size() == last);
      return told_.epochs.size();
    }
    return decided ? last : last - 1;
  }
  void run(const Setting& setting) {
    GoingOn nodes(setting, GetParam());
    ASSERT_NO_FATAL_FAILURE(let_die(nodes, setting));
    nodes.go_on_without(dead_);
    // Where nobody else can, the node itself recovers its former life.
    ASSERT_TRUE(GetParam().apart || nodes.survivors_have_looked()) << "the survivors do not go on";
    for (const NodeNumber id : dead_) children_[id] = std::make_unique<CrashChild>(nodes.next_life(id));
    const std::string found = std::to_string(expected(setting));
    const std::string counted = std::to_string(expected(setting) + dead_.size());
    for (NodeNumber id = 1; id <= kBankNodes; ++id) {
      SCOPED_TRACE(fmt::format("node {}", id));
      EXPECT_EQ(children_[id]->wait().exit_code, 0);
      std::vector<std::string> last{found, counted, "left: "};
      if (std::ranges::count(dead_, id) != 0) last.insert(last.begin() + 1, "writes all");
      std::vector<std::string> lines = children_[id]->lines();
      if (lines.size() > last.size())
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(last.size()));
      EXPECT_EQ(lines, last);
    }
    EXPECT_EQ(nodes.recoveries(), dead_.size()) << "each was recovered by one node, which tells of it";
  }

  std::array<std::unique_ptr<CrashChild>, kBankNodes + 1> children_;
  std::vector<NodeNumber> dead_;
  tests::Told told_;
};

INSTANTIATE_TEST_SUITE_P(Points, Recover, testing::ValuesIn(cases()), name_of);

TEST_P(Recover, TheOthersGoOnAndItComesBack) {
  constexpr std::uint64_t kSettings = 3;
  const std::uint64_t first = 2 * GetParam().number + 5 * static_cast<std::uint64_t>(GetParam().role);
  for (const std::uint64_t seed : tests::seeds(std::min(tests::scaled(1), kSettings), first)) {
    const Setting setting(seed);
    SCOPED_TRACE(fmt::format("seed {}: {} rounds{}{}{}{}", seed, setting.rounds, tests::text_of(setting.locking),
                             setting.by_times ? ", tictoc" : "", setting.leader_dies ? ", the participant leads" : "",
                             setting.index == IndexKind::kOrdered ? ", an ordered table" : ""));
    run(setting);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace granary
