// Attacks from outside the process. A client program that knows the public headers only is killed, its disk forgets,
// fails or runs full, and the memory with its rings goes or stays. All that it was told (by lines on a pipe) has to be
// in the directory then, no transaction is there by half, and the indexes agree with their tables.
//
// Each mode has its own rounds, each round its own seed, which draws the options, the lives and the moments of all that
// happens. A failure prints the line that runs that round again; as processes are killed by the clock, it may take some
// repetitions.
//
// Not covered: devices that lose what was synced, or write half a sector; clusters (tests/node).

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/base/test_hooks.h"
#include "tests/crash/acknowledged.h"
#include "tests/crash/disks.h"
#include "tests/crash/told.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"
#include "tests/support/units.h"

namespace granary::crash {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tests::kKiB;
using tests::kMiB;

enum class DiskKind : std::uint8_t {
  kMemory,  ///< a file system in memory, which loses nothing as long as the system lives
  kExt4,    ///< on a device, which can lose what was not synced
};
/// What happens to the client's files.
enum class Strike : std::uint8_t {
  kKill,    ///< the process ends
  kForget,  ///< and the disk loses what was not synced
  kDetach,  ///< the disk goes away under the process, which ends a moment later
  kFill,    ///< the disk runs full, or ext4's device; then the process ends
  kCopy,    ///< they are copied, while the process runs or when it has ended, and the copy is opened
  kFail,    ///< one call of the system fails; then the process ends, and the disk loses what was not synced
};
enum class Rings : std::uint8_t { kStay, kGo };

struct Mode {
  const char* name;
  DiskKind disk;
  Strike strike;
  Rings rings;
};
void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }

constexpr std::uint64_t kRoomy = 1024 * kMiB;
constexpr auto kPatience = std::chrono::seconds(20);

Workshop& workshop() {
  static Workshop workshop;
  return workshop;
}

class Round {
 public:
  Round(const Mode& mode, std::uint64_t seed)
      : mode_(mode),
        random_(seed),
        seed_(seed),
        directory_(workshop().new_round()) {}

  /// Why it cannot be run here; "" if it can.
  std::string prepare();
  void run();
  std::uint64_t released() const { return acknowledged_.released(); }
  /// Copies that were made while the client ran.
  struct Copies {
    std::uint64_t opened = 0, refused = 0;
  };
  const Copies& copies() const { return copies_; }
  /// Lives in which a call of the system was made to fail.
  std::uint64_t faults() const { return faults_; }

 private:
  std::uint64_t one_of(std::initializer_list<std::uint64_t> values) {
    return std::data(values)[random_.below(values.size())];
  }
  microseconds up_to(microseconds longest) {
    return microseconds(random_.below(static_cast<std::uint64_t>(longest.count())));
  }
  bool chance(double probability) { return random_.chance(probability); }

  std::string database() const { return directory_ + "/disk/db"; }
  /// The file system in memory that everything on the disk is in.
  std::string store() const { return loop_ ? loop_->store() : directory_ + "/disk"; }
  std::string rings() const { return directory_ + "/rings"; }

  void draw_options();
  std::vector<std::string> client(const std::string& command) const { return client(command, database()); }
  std::vector<std::string> client(const std::string& command, const std::string& database) const;
  void plan_a_failure(std::vector<std::string>& command);
  void live();
  void reach_a_moment(tests::CrashChild& client, bool closes);
  void wait_until_stopped(tests::CrashChild& client) const;
  void lose();
  void open_a_running_copy(tests::CrashChild& client);
  void open_a_copy(bool at_rest, const Acknowledged& before);
  void die_while_recovering();
  void see_what_is_left();
  void see_that_tools_agree();
  void judge_words(const std::vector<std::string>& lines) const;

  const Mode mode_;
  base::Random random_;
  const std::uint64_t seed_;
  const std::string directory_;
  std::unique_ptr<MemoryDisk> memory_;
  std::unique_ptr<LoopDisk> loop_;
  std::vector<std::string> options_;  // of the client, drawn anew for each life
  bool alone_ = true;                 // one logger
  Acknowledged acknowledged_;
  Copies copies_;
  std::uint64_t faults_ = 0;
  std::string last_words_;  // of the client that was killed last, and how it was called
};

std::string Round::prepare() {
  if (mode_.disk == DiskKind::kMemory) {
    memory_ = std::make_unique<MemoryDisk>(directory_ + "/disk");
    return memory_->why_not();
  }
  loop_ = std::make_unique<LoopDisk>(directory_);
  return loop_->why_not();
}

void Round::draw_options() {
  const bool defaults = chance(0.2);  // those of the library
  const std::uint64_t loggers = mode_.strike == Strike::kFail ? 1 : one_of({1, 2});
  const std::uint64_t segment = one_of({64 * kKiB, 256 * kKiB, 4 * kMiB});
  const auto number = [](const char* name, std::uint64_t value) {
    return std::string("--") + name + "=" + std::to_string(value);
  };
  const bool fills = mode_.strike == Strike::kFill;
  options_ = {number("row_bytes", fills ? 20000 : one_of({40, 2000, 2000})), number("in_flight", one_of({8, 64, 512})),
              number("seed", random_.next() >> 8), number("protocol", random_.below(4))};
  if (chance(0.5)) options_.push_back(number("checkpoint_us", one_of({200, 3000, 20000})));
  alone_ = defaults || loggers == 1;
  if (defaults) return;
  options_.insert(options_.end(),
                  {number("loggers", loggers), number("ring_bytes", one_of({64 * kKiB, 256 * kKiB, 8 * kMiB})),
                   number("segment_bytes", segment), number("compress", fills ? 0 : one_of({0, 0, 1})),
                   number("epoch_ms", one_of({1, 2, 5, 20}))});
  if (chance(0.3) && segment < kMiB && !fills) options_.push_back(number("reserve_bytes", 3 * segment));
}

std::vector<std::string> Round::client(const std::string& command, const std::string& database) const {
  std::vector<std::string> words{GRANARY_CRASH_CLIENT, command, "--directory=" + database, "--rings=" + rings()};
  words.insert(words.end(), options_.begin(), options_.end());
  if (!base::injected_bug().empty()) words.push_back("--inject_bug=" + std::string(base::injected_bug()));
  return words;
}

/// The command in an environment in which a call fails.
void Round::plan_a_failure(std::vector<std::string>& command) {
  static const std::vector<std::string> kCalls{"sync", "sync", "write", "write", "rename"},
      kPaths{".glog", ".glog", ".glog", ".gckpt", "MANIFEST", "/db"}, kErrors{"EIO", "EIO", "ENOSPC", "EINTR", "SHORT"};
  std::vector<std::string> words{"/usr/bin/env", "LD_PRELOAD=" GRANARY_CRASH_FAILING_CALLS, "GRANARY_CRASH_PLAIN=1",
                                 "ASAN_OPTIONS=verify_asan_link_order=0"};
  if (chance(0.5)) words.emplace_back("GRANARY_CRASH_CACHED=1");
  if (chance(0.3)) words.emplace_back("GRANARY_CRASH_SYNC_US=" + std::to_string(random_.below(4000)));
  if (mode_.strike == Strike::kFail) {
    const std::string& call = kCalls[random_.below(kCalls.size())];
    const std::string& error = kErrors[call == "write" ? random_.below(kErrors.size()) : random_.below(3)];
    words.insert(words.end(),
                 {"GRANARY_CRASH_CALL=" + call, "GRANARY_CRASH_ERROR=" + error,
                  "GRANARY_CRASH_PATH=" + (call == "rename" ? "/db" : kPaths[random_.below(kPaths.size())]),
                  "GRANARY_CRASH_NTH=" + std::to_string(1 + random_.below(call == "rename" ? 6 : 30))});
  }
  command.insert(command.begin(), words.begin(), words.end());
}

/// Kills it while it opens, serves, takes a checkpoint or closes, in a moment that the seed knows only roughly.
void Round::reach_a_moment(tests::CrashChild& client, bool closes) {
  const std::uint64_t phase = random_.below(8);
  if (phase == 0) {
    client.run_for(up_to(milliseconds(25)));
    return;
  }
  static_cast<void>(client.run_until("serving"));
  client.run_for(up_to(milliseconds(phase < 4 ? 60 : 15)));
  if (phase == 5 || phase == 6) static_cast<void>(client.run_until_beginning("checkpointing", milliseconds(30)));
  if (closes) static_cast<void>(client.run_until_beginning("closing", milliseconds(100)));
  if (phase >= 5) client.run_for(up_to(milliseconds(4)));
}

/// The client says so when the log has failed, and has said by then whether it still reads.
void Round::wait_until_stopped(tests::CrashChild& client) const {
  static_cast<void>(client.run_until_beginning("status ", kPatience));
  client.run_for(milliseconds(5));
}

/// One life of the client, and how it ends.
void Round::live() {
  draw_options();
  const bool closes = mode_.strike == Strike::kKill && chance(0.2);
  if (closes) options_.push_back("--close_us=" + std::to_string(random_.below(40000)));
  std::vector<std::string> command = client("run");
  if (mode_.strike == Strike::kFail || mode_.strike == Strike::kFill || chance(0.2)) plan_a_failure(command);
  tests::CrashChild client(command);
  if (mode_.strike == Strike::kFill) {
    EXPECT_TRUE(leave_room(store(), kMiB + random_.below(3 * kMiB)));
    wait_until_stopped(client);
  } else {
    reach_a_moment(client, closes);
  }
  if (mode_.strike == Strike::kFail && client.run_until_beginning("fault ", milliseconds(100)))
    client.run_for(up_to(milliseconds(30)));
  if (mode_.strike == Strike::kDetach) {
    EXPECT_TRUE(loop_->detach());
    client.run_for(up_to(milliseconds(30)));
  } else if (mode_.strike == Strike::kForget && chance(0.3)) {  // the disk forgets first, then the process dies
    client.signal(SIGSTOP);
    static_cast<void>(client.wait_until_stopped());
    EXPECT_TRUE(loop_->take_image());
    client.kill();
    acknowledged_.hear(client.lines());
    judge_words(client.lines());
    EXPECT_TRUE(loop_->return_to_image());
    return;
  }
  const bool copied_while_running = mode_.strike == Strike::kCopy && chance(0.5);
  if (copied_while_running) open_a_running_copy(client);
  client.kill();
  acknowledged_.hear(client.lines());
  if (mode_.strike == Strike::kCopy && !copied_while_running) open_a_copy(/*at_rest=*/true, acknowledged_);
  last_words_ = "the last client:";
  for (const std::string& word : command) last_words_ += " " + word;
  last_words_ += "\n" + tail_of(client.lines());
  if (line_of(client.lines(), "fault ") != nullptr) ++faults_;
  judge_words(client.lines());
  lose();
}

/// What the end of the process takes with it.
void Round::lose() {
  if (loop_) {
    EXPECT_TRUE(loop_->take_image());
  }
  EXPECT_TRUE(leave_room(store(), kRoomy));
  if (loop_) {
    EXPECT_TRUE(loop_->return_to_image());
  }
}

/// Checks that a copy which opens has all that was acknowledged before it began. Nobody knows how much more is in it.
void Round::open_a_running_copy(tests::CrashChild& client) {
  client.run_for(milliseconds(1));
  Acknowledged before = acknowledged_;
  before.hear(client.lines());
  open_a_copy(/*at_rest=*/false, before);
}

/// What is done to a copy does not touch the original. A torn copy, made while transactions ran, is refused as a whole.
void Round::open_a_copy(bool at_rest, const Acknowledged& before) {
  if (!fs::exists(database() + "/MANIFEST")) return;
  const std::string copy = directory_ + "/disk/copy", original = directory_ + "/before",
                    rings_before = directory_ + "/rings_before";
  static_cast<void>(run_program({"cp", "-a", database(), copy}));  // a file may go while it is copied
  if (at_rest) {
    EXPECT_EQ(run_program({"cp", "-a", database(), original}), 0);
    EXPECT_EQ(run_program({"cp", "-a", rings(), rings_before}), 0);
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"log", "verify", copy}, {"recover", copy, "--dry-run"}}) {
    std::vector<std::string> command{GRANARY_COMMAND};
    command.insert(command.end(), words.begin(), words.end());
    std::string said;
    const int exit_code = run_program(command, &said);
    if (at_rest) {
      EXPECT_EQ(exit_code, 0) << words[0] << " " << words[1] << ": " << said;
    }
  }
  tests::CrashChild checking(client("check", copy));
  const auto end = checking.wait();
  const std::string said = tail_of(checking.lines());
  EXPECT_NE(end.exit_code, 1) << "a copy has come up by half:\n" << said;
  Acknowledged copied = before;
  copied.forget_unreleased();
  if (end.exit_code == 0) {
    EXPECT_EQ(at_rest ? copied.judge(counters_of(checking.lines())) : copied.missing(counters_of(checking.lines())), "")
        << said;
  }
  if (!at_rest) ++(end.exit_code == 0 ? copies_.opened : copies_.refused);
  if (at_rest) {
    EXPECT_EQ(end.exit_code, 0) << said;
    std::string differences;
    EXPECT_EQ(run_program({"diff", "-r", original, database()}, &differences), 0)
        << "the original has changed: " << differences;
    for (const auto& ring : fs::directory_iterator(rings_before))
      EXPECT_EQ(run_program({"diff", "-r", ring.path(), rings() + "/" + ring.path().filename().string()}, &differences),
                0)
          << "the original's rings have changed: " << differences;
  }
  for (const std::string& made : {copy, original, rings_before}) fs::remove_all(made);
}

void Round::run() {
  const std::uint64_t lives = 1 + random_.below(3);
  for (std::uint64_t life = 0; life < lives && !testing::Test::HasFailure(); ++life) {
    ASSERT_EQ(run_program({"mkdir", "-p", rings()}), 0);
    live();
    if (mode_.rings == Rings::kGo) {
      EXPECT_EQ(run_program({"rm", "-rf", rings()}), 0);
      acknowledged_.forget_unreleased();
    }
    if (chance(0.3)) die_while_recovering();
    see_what_is_left();
  }
}

/// An opening that is killed, after which the disk forgets again.
void Round::die_while_recovering() {
  draw_options();
  {
    tests::CrashChild recovering(client("check"));
    recovering.run_for(up_to(milliseconds(15)));
  }
  if (mode_.strike == Strike::kForget || mode_.strike == Strike::kDetach) lose();
}

/// They refuse nothing that opening does not.
void Round::see_that_tools_agree() {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"log", "verify", database()}, {"recover", database(), "--dry-run"}}) {
    std::vector<std::string> command{GRANARY_COMMAND};
    command.insert(command.end(), words.begin(), words.end());
    std::string said;
    EXPECT_EQ(run_program(command, &said), 0) << words[0] << " " << words[1] << ": " << said;
  }
}

/// Judges the words of a client of itself, whatever becomes of its files.
void Round::judge_words(const std::vector<std::string>& lines) const {
  see_that_it_saw_no_violation(lines);
  switch (mode_.strike) {
    case Strike::kKill:
    case Strike::kForget:
    case Strike::kCopy: see_that_nothing_failed(lines); break;
    case Strike::kDetach: see_that_it_was_told(lines); break;
    case Strike::kFill: see_that_the_full_disk_was_told(lines); break;
    case Strike::kFail: see_that_it_was_told(lines); break;
  }
  const bool may_fail = mode_.strike == Strike::kFill || mode_.strike == Strike::kFail;
  if (may_fail && alone_) see_that_nothing_was_released_after_a_fault(lines);
}

void Round::see_what_is_left() {
  draw_options();
  if (chance(0.5)) options_.push_back("--close_us=1");
  if (chance(0.25) && fs::exists(database() + "/MANIFEST")) see_that_tools_agree();
  tests::CrashChild checking(client("check"));
  const auto end = checking.wait();
  const std::string said = tail_of(checking.lines());
  const auto counters = counters_of(checking.lines());
  EXPECT_EQ(end.exit_code, 0) << said << last_words_;
  if (end.exit_code > 1) return;
  EXPECT_EQ(acknowledged_.judge(counters), "") << said << last_words_;
  acknowledged_.settle(counters);
}

class Crash : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (!workshop().why_not().empty()) GTEST_SKIP() << workshop().why_not();
  }
};

/// The seed of the one round to run, if it is chosen.
std::optional<std::uint64_t> chosen_seed() {
  const char* const text = std::getenv("GRANARY_CRASH_SEED");
  return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::strtoull(text, nullptr, 10));
}

TEST_P(Crash, LosesNothingThatWasAcknowledged) {
  const std::optional<std::uint64_t> chosen = chosen_seed();
  const std::uint64_t first = chosen.value_or(1), rounds = chosen ? 1 : tests::scaled(25);
  std::uint64_t released = 0, copies_opened = 0, faults = 0;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    SCOPED_TRACE("replay: GRANARY_CRASH_SEED=" + std::to_string(seed) + " crash_test --gtest_filter='*/" +
                 GetParam().name + "' --gtest_repeat=20");
    Round round(GetParam(), seed);
    if (const std::string why_not = round.prepare(); !why_not.empty()) GTEST_SKIP() << why_not;
    round.run();
    released += round.released();
    copies_opened += round.copies().opened;
    faults += round.faults();
    if (HasFailure()) return;
  }
  std::cout << "seeds " << first << " to " << first + rounds - 1 << ": " << released << " transactions were released\n";
  EXPECT_GT(released, 0u);
  if (GetParam().strike == Strike::kFail && !chosen) {
    std::cout << faults << " calls failed\n";
    EXPECT_GT(faults, 0u);
  }
  if (GetParam().strike == Strike::kCopy && !chosen) {
    std::cout << copies_opened << " copies of a running database opened\n";
    EXPECT_GT(copies_opened, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Crash,
                         testing::Values(Mode{"Killed", DiskKind::kMemory, Strike::kKill, Rings::kStay},
                                         Mode{"KilledAndRingsGone", DiskKind::kMemory, Strike::kKill, Rings::kGo},
                                         Mode{"DiskForgets", DiskKind::kExt4, Strike::kForget, Rings::kStay},
                                         Mode{"DiskForgetsAndRingsGone", DiskKind::kExt4, Strike::kForget, Rings::kGo},
                                         Mode{"DiskGoesAway", DiskKind::kExt4, Strike::kDetach, Rings::kStay},
                                         Mode{"DiskGoesAwayAndRingsGone", DiskKind::kExt4, Strike::kDetach, Rings::kGo},
                                         Mode{"DiskFull", DiskKind::kMemory, Strike::kFill, Rings::kStay},
                                         Mode{"DiskFullAndRingsGone", DiskKind::kMemory, Strike::kFill, Rings::kGo},
                                         Mode{"ACallFails", DiskKind::kExt4, Strike::kFail, Rings::kStay},
                                         Mode{"ACallFailsAndRingsGone", DiskKind::kExt4, Strike::kFail, Rings::kGo},
                                         Mode{"DeviceFull", DiskKind::kExt4, Strike::kFill, Rings::kStay},
                                         Mode{"DeviceFullAndRingsGone", DiskKind::kExt4, Strike::kFill, Rings::kGo},
                                         Mode{"Copied", DiskKind::kMemory, Strike::kCopy, Rings::kStay}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace granary::crash
