// Runs a node of a bank of three branches, for restarts under load (rolling_test.py). It is an application that
// cluster.sh starts in place of `granary node`.
//
//   rolled_node --cluster=FILE --id=NODE
//
// It opens the accounts of its branch if they are new, looks whether money is missing, and says that it serves. Until
// SIGTERM it moves money between all branches, counts its moves in a number that another node keeps, and reads all
// accounts in turn; a node that it needs may be away. In the cluster file's folder, NODE.receipt has up to where its
// moves were released, and NODE.away for how long an account could not be read. The exit code is 2 if money is missing,
// or if the number is less than the receipt: then something released was lost.

#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <granary/cluster.h>

namespace granary {
namespace {

using std::chrono::steady_clock;

constexpr NodeNumber kBranches = 3;
constexpr std::uint64_t kAccounts = 4;  ///< of each branch
constexpr std::uint64_t kAll = kBranches * kAccounts;
constexpr std::int64_t kMoney = 100;
constexpr std::uint64_t kFirstNumber = 1000;

std::atomic<bool> enough{false};  // the signal's handler sets it; it publishes nothing

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

/// Returns the node that keeps a key: an account is at its branch, and the number of a node at the next one.
NodeNumber home_of(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  if (number < kFirstNumber) return static_cast<NodeNumber>(number / kAccounts + 1);
  return static_cast<NodeNumber>((number - kFirstNumber) % kBranches + 1);
}

void must(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "rolled_node: %s: %s\n", what, status.message().c_str());
  std::exit(3);
}
template <typename T>
T must(Result<T> result, const char* what) {
  must(result.status(), what);
  return std::move(result).value();
}

ClusterOptions options(const std::string& file, NodeNumber node) {
  ClusterOptions options{.file = file, .node = node};
  options.database.huge_pages = HugePages::kOff;
  options.give_up = [] { return enough.load(); };
  return options;
}

/// Replaces a small file as a whole.
void write(const std::string& path, std::int64_t value) {
  std::ofstream(path + ".new") << value;
  (void)std::rename((path + ".new").c_str(), path.c_str());
}
std::int64_t read(const std::string& path) {
  std::int64_t value = 0;
  std::ifstream(path) >> value;
  return value;
}

class Bank {
 public:
  Bank(const std::string& file, NodeNumber node)
      : cluster_(must(Cluster::join(options(file, node)), "join")),
        accounts_(must(cluster_->create_table<std::uint64_t, std::int64_t>("accounts", {.index = IndexKind::kHash},
                                                                           Placement{home_of}),
                       "create_table")),
        number_(kFirstNumber + node),
        files_(file.substr(0, file.rfind('/') + 1) + std::to_string(node)) {
    must(cluster_->start(), "start");
    worker_ = must(cluster_->register_worker(), "register_worker");
  }

  /// Returns false if something is missing.
  bool check() {
    const std::uint64_t first = (cluster_->node() - std::uint64_t{1}) * kAccounts;
    surely([&](Transaction& t) {
      if (t.get(accounts_, number_)) return;
      for (std::uint64_t key = first; key < first + kAccounts; ++key) (void)t.put(accounts_, key, kMoney);
      (void)t.put(accounts_, number_, 0);
    });
    if (!cluster_->rejoined()) must(cluster_->barrier(), "barrier");  // else the others have something else to do
    std::int64_t sum = 0;
    surely([&](Transaction& t) {
      sum = 0;
      for (std::uint64_t key = 0; key < kAll; ++key) sum += t.get(accounts_, key).value_or(0);
      moves_ = t.get(accounts_, number_).value_or(-1);
    });
    const std::int64_t released = read(files_ + ".receipt");
    std::printf("money %lld, moves %lld, released %lld\n", static_cast<long long>(sum), static_cast<long long>(moves_),
                static_cast<long long>(released));
    return sum == std::int64_t{kAll} * kMoney && moves_ >= released;
  }

  void serve() {
    std::printf("node %u of %u serves\n", unsigned{cluster_->node()}, unsigned{kBranches});
    seen_.fill(steady_clock::now());
    for (std::uint64_t turn = cluster_->node(); !enough && cluster_->status().ok(); ++key_) {
      turn = turn * 6364136223846793005u + 1442695040888963407u;
      move((turn >> 33) % kAll, (turn >> 20) % (kAll - 1));
      look(key_ % kAll);
      std::this_thread::sleep_for(std::chrono::microseconds(500));  // so that three nodes leave room on two CPUs
    }
    worker_.reset();
    must(cluster_->status().ok() ? cluster_->leave() : cluster_->status(), "leave");
  }

 private:
  void surely(const std::function<void(Transaction&)>& body) {
    while (!worker_->run(body).committed() && !enough) {
    }
  }
  void move(std::uint64_t from, std::uint64_t step) {
    const std::uint64_t to = (from + 1 + step) % kAll;
    const RunResult done = worker_->run([&](Transaction& t) {
      const auto source = t.get(accounts_, from);
      const auto target = t.get(accounts_, to);
      const auto number = t.get(accounts_, number_);
      if (!source || !target || !number) return;
      (void)t.put(accounts_, from, *source - 1);
      (void)t.put(accounts_, to, *target + 1);
      (void)t.put(accounts_, number_, *number + 1);
      moves_ = *number + 1;
    });
    if (done.committed()) note(done.ticket.epoch);
  }
  /// Remembers one move at a time, and writes it to the receipt once its epoch has been released.
  void note(std::uint64_t epoch) {
    if (waiting_epoch_ != 0 && cluster_->database().released_epoch() >= waiting_epoch_) {
      write(files_ + ".receipt", waiting_);
      waiting_epoch_ = 0;
    }
    if (waiting_epoch_ == 0) waiting_ = moves_, waiting_epoch_ = epoch;
  }
  void look(std::uint64_t key) {
    std::optional<std::int64_t> money;
    const RunResult done = worker_->run([&](Transaction& t) { money = t.get(accounts_, key); });
    if (!done.committed() || !money) return;
    const auto now = steady_clock::now();
    const auto away = std::chrono::duration_cast<std::chrono::milliseconds>(now - std::exchange(seen_[key], now));
    if (away.count() <= longest_ms_) return;
    longest_ms_ = away.count();
    if (longest_ms_ > read(files_ + ".away")) write(files_ + ".away", longest_ms_);
  }

  std::unique_ptr<Cluster> cluster_;
  Accounts accounts_;
  const std::uint64_t number_;
  const std::string files_;
  std::unique_ptr<ClusterWorker> worker_;
  std::array<steady_clock::time_point, kAll> seen_;
  std::uint64_t key_ = 0;
  std::int64_t longest_ms_ = 0;
  std::int64_t moves_ = 0;
  std::int64_t waiting_ = 0;
  std::uint64_t waiting_epoch_ = 0;
};

int run(const std::string& file, NodeNumber node) {
  ::signal(SIGTERM, [](int) { enough = true; });
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Bank bank(file, node);
  if (!bank.check() && !enough) return 2;
  bank.serve();
  return 0;
}

}  // namespace
}  // namespace granary

int main(int argc, char** argv) {
  const std::string file = argc == 3 ? argv[1] : "", id = argc == 3 ? argv[2] : "";
  if (!file.starts_with("--cluster=") || !id.starts_with("--id=")) {
    std::fprintf(stderr, "usage: rolled_node --cluster=FILE --id=NODE\n");
    return 2;
  }
  return granary::run(file.substr(10), static_cast<granary::NodeNumber>(std::stoul(id.substr(5))));
}
