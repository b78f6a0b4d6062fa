// The client of the memory harness: a program that knows Granary by its public headers only, and whose own address
// space is limited to little more than the database's memory. Its standard output is a pipe that outlives it; each line
// there is one write.
//
//   crash_memory_client run FILL DIRECTORY RINGS    fills the memory, sees what writers and readers are told, lets the
//                                                   cause end, sees how soon writers are back, fills it again, and goes
//                                                   on until it is killed
//   crash_memory_client check FILL DIRECTORY RINGS  opens the database with the same limits and compares everything
//                                                   with everything else
//
// FILL says of what memory is full: live (rows), garbage (deleted ones that wait for their epoch), snapshot (what a
// snapshot still reads), sizes (rows, which go, and rows of another size come). Lines: "committed N" now and then, for
// the N transactions so far; "full" when it may be killed; "transactions N" of `check`; "violation SENTENCE"; "resident
// KIB".
//
// Exit codes: 0 done, 2 wrong usage, 3 nobody killed it, 4 the database could not be opened or used.

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <granary/granary.h>

#include "tests/support/units.h"

namespace granary::crash {
namespace {

using std::chrono::milliseconds;
using tests::kKiB;
using tests::kMiB;
using Clock = std::chrono::steady_clock;

constexpr int kDone = 0, kUsage = 2, kNotKilled = 3, kFailed = 4;
constexpr std::uint64_t kLimit = 8 * kMiB;
/// What the process may take beside the database's memory: its code, two rings, the log's buffers, and the lists of
/// what waits to be freed.
constexpr std::uint64_t kResidentBeside = 32 * kMiB;
/// The same of its address space, with six threads' stacks of 8 MiB.
constexpr std::uint64_t kAddressesBeside = 96 * kMiB;
constexpr std::uint64_t kLive = 1000;  ///< rows beside the garbage
constexpr std::size_t kSmallBytes = 500, kLargeBytes = 5000;
constexpr int kTries = 5;  ///< of what has to be quick: the machine may be busy

void note(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(kFailed);
}

[[noreturn]] void give_up(const std::string& what, const std::string& why) {
  note("failed " + what + ": " + why);
  ::_exit(kFailed);
}

/// A line of /proc/self/status, in KiB.
std::uint64_t kib_of(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == name && status >> kib) return kib;
  }
  give_up("/proc/self/status", "has no " + std::string(name));
}

/// malloc() may have one heap only: for each further thread's it maps 64 MiB, and even where it gives them back at
/// once, what another thread maps in that moment would fail for want of addresses.
void limit_address_space() {
  if (::mallopt(M_ARENA_MAX, 1) != 1) give_up("mallopt", "knows no M_ARENA_MAX");
  const rlim_t bytes = kib_of("VmSize:") * kKiB + kLimit + kAddressesBeside;
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) give_up("setrlimit", std::strerror(errno));
}

/// One record, from which the whole database follows.
struct State {
  std::uint64_t transactions = 0;
  std::uint64_t first = 0, next = 0;  ///< keys of the small rows: [first, next)
  std::uint64_t large = 0;            ///< and of the large ones: [0, large)
};

std::string row(std::uint64_t key, std::size_t bytes) {
  std::string value = std::to_string(key * 2654435761);
  value.resize(bytes, static_cast<char>('a' + key % 26));
  return value;
}

class Client {
 public:
  Client(Database& database, std::string_view fill)
      : database_(database),
        fill_(fill),
        states_(table("state", sizeof(State))),
        small_(table("small", kSmallBytes)),
        large_(table("large", kLargeBytes)),
        writer_(worker()),
        reader_(worker()) {
    Transaction t = writer_.begin();
    now_ = read_state(t);
    t.abort();
  }

  void run();
  /// Compares rows with state, in one transaction.
  void audit();
  /// A database that was full opens, and room can be made.
  void serve();
  std::uint64_t transactions() const { return now_.transactions; }

 private:
  Table table(const char* name, std::uint32_t bytes) {
    auto made = database_.create_table(name, {.max_value_bytes = bytes});
    if (!made.ok()) give_up("table", made.status().message());
    return *made;
  }
  Worker worker() {
    auto registered = database_.register_worker();
    if (!registered.ok()) give_up("worker", registered.status().message());
    return std::move(*registered);
  }
  template <typename Reader>
  State read_state(Reader& reader) const {
    State state;
    std::string value;
    if (reader.get(states_, "now", value) == Outcome::kOk) std::memcpy(&state, value.data(), sizeof state);
    return state;
  }
  void write_state(Transaction& t, const State& next) const {
    (void)t.put(states_, "now", std::string_view(reinterpret_cast<const char*>(&next), sizeof next));
  }

  void insert(Transaction& t, State& next) const {
    (void)t.insert(small_, encode_key(next.next).view(), row(next.next, kSmallBytes));
    ++next.next;
  }
  void remove(Transaction& t, State& next) const { (void)t.remove(small_, encode_key(next.first++).view()); }
  void churn(Transaction& t, State& next) const {
    insert(t, next);
    if (next.next - next.first > kLive) remove(t, next);
  }
  void insert_large(Transaction& t, State& next) const {
    (void)t.insert(large_, encode_key(next.large).view(), row(next.large, kLargeBytes));
    ++next.large;
  }
  void remove_large(Transaction& t, State& next) const { (void)t.remove(large_, encode_key(--next.large).view()); }

  /// One transaction. False: there is no memory for it, and nothing else may be the reason.
  template <typename Body>
  bool change(const Body& body) {
    State next;
    const RunResult done = writer_.run([&](Transaction& t) {
      next = now_;
      ++next.transactions;
      body(t, next);
      write_state(t, next);
    });
    if (!done) {
      if (done.reason != AbortReason::kOutOfMemory)
        note("violation a writer is told " + std::string(name(done.reason)));
      return false;
    }
    now_ = next;
    if (now_.transactions % 16 == 0) note("committed " + std::to_string(now_.transactions));
    return true;
  }
  template <typename Body>
  void must_change(const char* what, const Body& body) {
    for (const auto end = Clock::now() + std::chrono::seconds(20); !change(body);) {
      if (Clock::now() > end) give_up(what, "there is no memory for it");
    }
  }

  /// Rows and state of one transaction or snapshot.
  template <typename Reader>
  bool agree(Reader& reader) const;
  void fill();
  void end_cause();
  /// How long it takes until writers are back.
  milliseconds time_until_back();
  void see_what_it_takes();

  Database& database_;
  const std::string_view fill_;
  Table states_, small_, large_;
  Worker writer_, reader_;
  Snapshot snapshot_;
  State now_;
};

void Client::fill() {
  const auto grow = [&](Transaction& t, State& next) { insert(t, next); };
  const auto go_round = [&](Transaction& t, State& next) { churn(t, next); };
  if (fill_ == "live" || fill_ == "sizes") {
    while (change(grow)) {
    }
    return;
  }
  while (now_.next - now_.first < kLive) must_change("insert", grow);
  if (fill_ == "snapshot") {
    snapshot_ = reader_.snapshot();
    while (change(go_round)) {
    }
    return;
  }
  // Garbage becomes free by itself, so Worker::run would only be slow.
  for (std::uint64_t refused = 0; refused < 20;) {
    Transaction t = writer_.begin();
    State next = now_;
    ++next.transactions;
    churn(t, next);
    write_state(t, next);
    const CommitResult done = t.commit();
    if (done.committed()) {
      now_ = next;
      if (now_.transactions % 16 == 0) note("committed " + std::to_string(now_.transactions));
    } else if (done.reason == AbortReason::kOutOfMemory) {
      ++refused;
    } else {
      note("violation a writer is told " + std::string(name(done.reason)));
    }
  }
}

void Client::end_cause() {
  snapshot_.finish();
  const auto shrink = [&](Transaction& t, State& next) { remove(t, next); };
  if (fill_ == "live") {
    for (const std::uint64_t middle = now_.first + (now_.next - now_.first) / 2; now_.first < middle;)
      must_change("remove", shrink);
  } else if (fill_ == "sizes") {
    while (now_.first < now_.next) must_change("remove", shrink);
  }
}

milliseconds Client::time_until_back() {
  const auto start = Clock::now();
  for (int done = 0; done < 100; ++done) {
    must_change("write", [&](Transaction& t, State& next) {
      if (fill_ == "sizes") {
        insert_large(t, next);
      } else if (fill_ == "live") {
        insert(t, next);
      } else {
        churn(t, next);
      }
    });
  }
  const auto time = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  while (now_.large != 0) must_change("remove", [&](Transaction& t, State& next) { remove_large(t, next); });
  return time;
}

template <typename Reader>
bool Client::agree(Reader& reader) const {
  const State state = read_state(reader);
  std::uint64_t small = state.first, large = 0;
  const auto each = [](std::uint64_t& expected, std::size_t bytes) {
    return [&expected, bytes](std::string_view key, std::string_view value) {
      const bool right = key == encode_key(expected).view() && value == row(expected, bytes);
      ++expected;
      return right;
    };
  };
  const ScanResult all_small = reader.scan(small_, {}, each(small, kSmallBytes));
  const ScanResult all_large = reader.scan(large_, {}, each(large, kLargeBytes));
  return all_small && all_large && small == state.next && large == state.large;
}

void Client::audit() {
  bool agreed = false;
  const RunResult done = reader_.run([&](Transaction& t) { agreed = agree(t); });
  if (!done) note("violation reads do not go on: " + std::string(name(done.reason)));
  if (!agreed || (snapshot_.epoch() != 0 && !agree(snapshot_))) note("violation rows and state disagree");
}

void Client::see_what_it_takes() {
  const std::uint64_t kib = kib_of("VmHWM:");
  note("resident " + std::to_string(kib));
  if (kib * kKiB > kLimit + kResidentBeside)
    note("violation the process has taken " + std::to_string(kib / kKiB) + " MiB with a limit of " +
         std::to_string(kLimit / kMiB));
}

void Client::run() {
  milliseconds least = milliseconds::max();
  for (int tries = 0; tries < kTries && least > milliseconds(1000); ++tries) {
    fill();
    audit();
    end_cause();
    least = std::min(least, time_until_back());
  }
  note("back after " + std::to_string(least.count()) + " ms");
  if (least > milliseconds(1000))
    note("violation writers are back only after " + std::to_string(least.count()) + " ms");
  audit();
  fill();
  see_what_it_takes();
  note("full");
  for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;)
    (void)change([&](Transaction& t, State& next) { churn(t, next); });
}

void Client::serve() {
  for (int i = 0; i < 200; ++i) must_change("remove", [&](Transaction& t, State& next) { remove(t, next); });
  for (int i = 0; i < 100; ++i) must_change("insert", [&](Transaction& t, State& next) { insert(t, next); });
  audit();
  see_what_it_takes();
}

Options options_of(char** arguments) {
  Options options;
  options.directory = arguments[3];
  options.reliable_directory = arguments[4];
  options.ring_bytes = kMiB;
  options.log_segment_bytes = 4 * kMiB;
  options.epoch_ms = 5;
  options.max_open_epochs = 0;  // the machine may be busy
  options.checkpoint_interval_s = 0;
  options.memory_limit_bytes = kLimit;
  options.huge_pages = HugePages::kOff;
  return options;
}

int run_client(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // however the harness ends, no client is left
  if (argc != 5) return kUsage;
  limit_address_space();
  auto database = Database::open(options_of(argv));
  if (!database.ok()) give_up("open", database.status().message());
  {
    Client client(**database, argv[2]);
    if (argv[1] == std::string_view("run")) {
      client.run();
      return kNotKilled;
    }
    note("transactions " + std::to_string(client.transactions()));
    client.audit();
    client.serve();
  }
  const Status closed = (*database)->close();
  if (!closed.ok()) give_up("close", closed.message());
  return kDone;
}

}  // namespace
}  // namespace granary::crash

int main(int argc, char** argv) { return granary::crash::run_client(argc, argv); }
