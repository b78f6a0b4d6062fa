// The client of the crash harness: a program that knows Granary by its public headers only. Its standard output is a
// pipe that outlives it; each line there is one write, so a line is there as a whole or not at all.
//
//   crash_client run   opens a database and commits transfers until it is killed, or told to close, or the log fails
//   crash_client check opens it and compares everything with everything else
//
// Lines of `run`: the phases opening, serving, checkpointing, checkpointed, closing, closed; "committed W N EPOCH" for
// transaction N of worker W; "released W N D" for its release; "stopped W REASON", "reads on" and "status MESSAGE" when
// nothing can be written any more; "fault CALL ERROR PATH D" when a call of the system was made to fail
// (failing_calls.cc). Lines of `check`: "refused CODE MESSAGE", or "counter W N" for each worker, and "violation
// SENTENCE".
//
// Exit codes: 0 done, 1 violations, 2 wrong usage, 3 nobody killed it, 4 the database could not be opened or used.

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <granary/granary.h>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "tests/crash/ledger.h"

namespace granary::crash {
namespace {

using std::chrono::steady_clock;

constexpr int kDone = 0, kViolations = 1, kUsage = 2, kNotKilled = 3, kFailed = 4;
constexpr auto kLongest = std::chrono::seconds(30);

void note(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(kFailed);
}

[[noreturn]] void give_up(const std::string& what, const std::string& why) {
  note("failed " + what + ": " + why);
  ::_exit(kFailed);
}

/// --name=value, all of them numbers but for a few.
class Flags {
 public:
  Flags(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string_view argument = argv[i];
      const auto equals = argument.find('=');
      if (!argument.starts_with("--") || equals == std::string_view::npos) usage(argument);
      values_[std::string(argument.substr(2, equals - 2))] = argument.substr(equals + 1);
    }
  }
  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }
  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const {
    const std::string value = text(name);
    std::uint64_t number = otherwise;
    if (!value.empty() && std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc())
      usage(value);
    return number;
  }
  [[noreturn]] static void usage(std::string_view wrong) {
    std::fprintf(stderr, "crash_client: '%.*s' is not understood\n", static_cast<int>(wrong.size()), wrong.data());
    ::_exit(kUsage);
  }

 private:
  std::map<std::string, std::string> values_;
};

Options options_of(const Flags& flags) {
  Options options;
  options.directory = flags.text("directory");
  options.reliable_directory = flags.text("rings");
  // Another one in each life: all write the same log, and open what another one has left.
  constexpr std::array kProtocols{"silo", "tictoc", "no_wait", "dl_detect"};
  options.protocol = kProtocols.at(flags.number("protocol", 0));
  options.loggers = static_cast<std::uint32_t>(flags.number("loggers", 1));
  options.ring_bytes = flags.number("ring_bytes", options.ring_bytes);
  options.log_segment_bytes = flags.number("segment_bytes", options.log_segment_bytes);
  options.log_reserve_bytes = flags.number("reserve_bytes", 0);
  options.log_compression = flags.number("compress", 0) != 0 ? LogCompression::kLz4 : LogCompression::kNone;
  options.epoch_ms = static_cast<std::uint32_t>(flags.number("epoch_ms", options.epoch_ms));
  options.snapshot_epochs = 2;
  options.checkpoint_interval_s = 0;
  options.max_open_epochs = 0;  // an audit takes its time
  options.max_workers = 2 * kWorkers;
  options.memory_limit_bytes = std::uint64_t{512} << 20;
  options.huge_pages = HugePages::kOff;
  return options;
}

Database* serving =
    nullptr;  // for fault_injected(), which comes from any thread; set before and cleared after there are any

class Teller {
 public:
  Teller(Database& database, const Ledger& ledger, std::uint32_t me, const Flags& flags)
      : database_(database),
        ledger_(ledger),
        me_(me),
        in_flight_(flags.number("in_flight", 64)),
        row_bytes_(flags.number("row_bytes", 2000)),
        random_(flags.number("seed", 1) * kWorkers + me),
        worker_(database.register_worker().value()) {}

  /// Until it is told to end, or nothing can be committed any more.
  void run(const std::atomic<bool>& ending) {
    while (!ending.load(std::memory_order_relaxed) && transfer()) {
      while (waiting_.size() >= in_flight_ && !ending.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        note_released();
        if (!database_.log_status().ok()) break;
      }
    }
    note_released();
  }

 private:
  bool transfer() {
    const Transfer transfer{random_() % kAccounts, random_() % kAccounts, static_cast<std::int64_t>(random_() % 50)};
    const std::size_t more = random_() % 4 == 0 ? row_bytes_ : random_() % 64;
    std::uint64_t number = 0;
    const RunResult done = worker_.run([&](Transaction& t) { number = move_money(t, ledger_, me_, transfer, more); });
    if (!done) {
      note("stopped " + std::to_string(me_) + " " + std::string(name(done.reason)));
      return false;
    }
    if (number == 0) give_up("transfer", "an account is missing");
    note("committed " + std::to_string(me_) + " " + std::to_string(number) + " " + std::to_string(done.ticket.epoch));
    waiting_.emplace_back(done.ticket.epoch, number);
    note_released();
    return true;
  }

  void note_released() {
    const std::uint64_t released = database_.released_epoch();
    std::uint64_t last = 0;
    for (; !waiting_.empty() && waiting_.front().first <= released; waiting_.pop_front())
      last = waiting_.front().second;
    if (last != 0)
      note("released " + std::to_string(me_) + " " + std::to_string(last) + " " + std::to_string(released));
  }

  Database& database_;
  const Ledger& ledger_;
  const std::uint32_t me_;
  const std::uint64_t in_flight_;
  const std::size_t row_bytes_;
  std::mt19937_64 random_;
  Worker worker_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // epoch and number of what is not released yet
};

/// Takes one checkpoint after the other. A checkpoint that fails is no reason to stop: the log is there.
void keep_checkpointing(Database& database, const std::atomic<bool>& ending, std::chrono::microseconds pause) {
  while (!ending.load(std::memory_order_relaxed) && database.log_status().ok()) {
    std::this_thread::sleep_for(pause);
    note("checkpointing");
    const Status done = database.checkpoint();
    note(done.ok() ? "checkpointed" : "no checkpoint: " + done.message());
  }
}

/// The log has failed: what was read before can still be read, and the cause is told.
void look_around(Database& database, const Ledger& ledger) {
  Worker worker = database.register_worker().value();
  Audit audited;
  const RunResult done = worker.run([&](Transaction& t) { audited = audit(t, ledger); });
  for (const std::string& violation : audited.violations) note("violation " + violation);
  note(done && audited.violations.empty() ? "reads on" : "cannot read: " + std::string(name(done.reason)));
  note("status " + database.log_status().message());
}

int run(const Flags& flags) {
  note("opening");
  auto database = Database::open(options_of(flags));
  if (!database.ok()) give_up("open", database.status().message());
  const auto ledger = open_ledger(**database);
  if (!ledger.ok()) give_up("tables", ledger.status().message());
  {
    Worker worker = (*database)->register_worker().value();
    const RunResult made = worker.run([&](Transaction& t) { populate(t, *ledger); });
    if (!made && made.reason != AbortReason::kLogFailed) give_up("populate", std::string(name(made.reason)));
  }
  serving = database->get();
  note("serving");
  const auto start = steady_clock::now();
  std::atomic<bool> ending{false};  // set here, read by all threads; only a signal, so relaxed
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < kWorkers; ++me)
    threads.emplace_back([&, me] { Teller(**database, *ledger, me, flags).run(ending); });
  if (const std::uint64_t pause = flags.number("checkpoint_us", 0); pause != 0)
    threads.emplace_back([&, pause] { keep_checkpointing(**database, ending, std::chrono::microseconds(pause)); });
  const std::chrono::microseconds until_close(flags.number("close_us", 0));
  const auto end = start + (until_close.count() != 0 ? until_close : std::chrono::microseconds(kLongest));
  while (steady_clock::now() < end && (*database)->log_status().ok())
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  ending.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
  if (!(*database)->log_status().ok()) {
    look_around(**database, *ledger);
    note("stopped");
    std::this_thread::sleep_for(kLongest);
    return kNotKilled;
  }
  if (until_close.count() == 0) return kNotKilled;
  serving = nullptr;
  note("closing");
  const Status closed = (*database)->close();
  note(closed.ok() ? "closed" : "not closed: " + closed.message());
  return kDone;
}

int check(const Flags& flags) {
  auto database = Database::open(options_of(flags));
  if (!database.ok()) {
    note("refused " + database.status().message());
    return kFailed;
  }
  const auto ledger = open_ledger(**database);
  if (!ledger.ok()) give_up("tables", ledger.status().message());
  Worker worker = (*database)->register_worker().value();
  Audit audited;
  const RunResult done = worker.run([&](Transaction& t) { audited = audit(t, *ledger); });
  if (!done) give_up("audit", std::string(name(done.reason)));
  for (const std::string& violation : audited.violations) note("violation " + violation);
  for (std::uint32_t me = 0; me < kWorkers; ++me)
    note("counter " + std::to_string(me) + " " + std::to_string(audited.counters[me]));
  if (flags.number("close_us", 0) == 0) ::_exit(audited.violations.empty() ? kDone : kViolations);
  worker = Worker();
  if (const Status closed = (*database)->close(); !closed.ok()) give_up("close", closed.message());
  return audited.violations.empty() ? kDone : kViolations;
}

int run_client(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // however the harness ends, no client is left
  if (argc < 2) Flags::usage("");
  const Flags flags(argc, argv);
  if (const std::string bug = flags.text("inject_bug"); !bug.empty()) {
    base::inject_bug(bug);
    base::mute_debug_invariants();  // as in tests/main.cc
  }
  const std::string_view command = argv[1];
  if (command == "run") return run(flags);
  if (command == "check") return check(flags);
  Flags::usage(command);
}

}  // namespace
}  // namespace granary::crash

/// Called by failing_calls.cc from within the call that fails, so that D cannot move past it meanwhile.
extern "C" void granary_crash_fault_injected(const char* call, const char* error, const char* path) {
  const std::uint64_t released = granary::crash::serving == nullptr ? 0 : granary::crash::serving->released_epoch();
  granary::crash::note(std::string("fault ") + call + " " + error + " " + path + " " + std::to_string(released));
}

int main(int argc, char** argv) { return granary::crash::run_client(argc, argv); }
