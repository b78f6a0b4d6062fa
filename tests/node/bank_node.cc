// A node of a bank of two branches, as a program of its own: for clusters of several hosts, ended and started again
// with their data.
//
//   bank_node CLUSTER_FILE NODE RECEIPT
//
// Opens the accounts of its branch if they are new, prints what all accounts together have, and moves money between the
// branches until SIGTERM. With each move it counts up a number of its own that the other node keeps, and writes to
// RECEIPT up to where the cluster has released. Exit code 1 if money is missing, or the number is behind the receipt:
// then something released was lost.

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include <granary/cluster.h>

namespace granary {
namespace {

constexpr NodeNumber kBranches = 2;
constexpr std::uint64_t kAccounts = 8;  ///< of each branch
constexpr std::int64_t kMoney = 100;
constexpr std::uint64_t kFirstNumber = 1000;

std::atomic<bool> enough{false};  // set by the signal's handler; nothing is published by it

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

/// Accounts are at their branch, a node's number at the other.
NodeNumber home_of(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  if (number < kFirstNumber) return static_cast<NodeNumber>(number / kAccounts + 1);
  return static_cast<NodeNumber>(kBranches + 1 - (number - kFirstNumber));
}

template <typename T>
T must(Result<T> result, const char* what) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "bank_node: %s: %s\n", what, result.status().message().c_str());
  std::exit(3);
}
void must(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "bank_node: %s: %s\n", what, status.message().c_str());
  std::exit(3);
}

ClusterOptions options(const std::string& file, NodeNumber node) {
  ClusterOptions options{.file = file, .node = node};
  options.database.huge_pages = HugePages::kOff;
  options.start_timeout_ms = 300'000;
  return options;
}

class Bank {
 public:
  Bank(const std::string& file, NodeNumber node, std::string receipt)
      : cluster_(must(Cluster::join(options(file, node)), "join")),
        accounts_(must(cluster_->create_table<std::uint64_t, std::int64_t>("accounts", {.index = IndexKind::kHash},
                                                                           Placement{home_of}),
                       "create_table")),
        number_(kFirstNumber + node),
        receipt_(std::move(receipt)) {
    must(cluster_->start(), "start");
    worker_ = must(cluster_->register_worker(), "register_worker");
  }

  /// False if something is missing.
  bool check() {
    const std::uint64_t first = (cluster_->node() - std::uint64_t{1}) * kAccounts;
    surely([&](Transaction& t) {
      if (t.get(accounts_, number_)) return;
      for (std::uint64_t key = first; key < first + kAccounts; ++key) (void)t.put(accounts_, key, kMoney);
      (void)t.put(accounts_, number_, 0);
    });
    await_other();
    std::int64_t sum = 0;
    surely([&](Transaction& t) {
      sum = 0;
      for (std::uint64_t key = 0; key < kBranches * kAccounts; ++key) sum += t.get(accounts_, key).value_or(0);
      moves_ = t.get(accounts_, number_).value_or(-1);
    });
    await_other();
    std::int64_t released = 0;
    std::ifstream(receipt_) >> released;
    std::printf("money %lld, moves %lld, released %lld\n", static_cast<long long>(sum), static_cast<long long>(moves_),
                static_cast<long long>(released));
    return sum == kBranches * std::int64_t{kAccounts} * kMoney && moves_ >= released;
  }

  /// Until it is told, or the other node is gone.
  void move() {
    for (std::uint64_t turn = cluster_->node(); !enough;) {
      turn = turn * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t from = (turn >> 33) % (kBranches * kAccounts);
      const std::uint64_t to = (from + 1 + (turn >> 20) % (kBranches * kAccounts - 1)) % (kBranches * kAccounts);
      const RunResult done = worker_->run([&](Transaction& t) {
        const auto source = t.get(accounts_, from);
        const auto target = t.get(accounts_, to);
        const auto number = t.get(accounts_, number_);
        if (!source || !target || !number) return;
        (void)t.put(accounts_, from, *source - 1);
        (void)t.put(accounts_, to, *target + 1);
        (void)t.put(accounts_, number_, *number + 1);
      });
      if (!done.committed()) return;
      last_ = done.ticket.epoch;
      note(++moves_);
    }
  }
  void leave() {
    worker_.reset();
    must(cluster_->leave(), "leave");
  }

 private:
  /// To a node that has come back the other one has something else to do.
  void await_other() {
    if (!cluster_->rejoined()) must(cluster_->barrier(), "barrier");
  }
  void surely(const std::function<void(Transaction&)>& body) {
    while (!worker_->run(body).committed()) {
    }
  }
  /// The last move of an epoch is noted once that has been released.
  void note(std::int64_t moves) {
    if (waiting_epoch_ != 0 && cluster_->database().released_epoch() >= waiting_epoch_) {
      std::ofstream(receipt_ + ".new") << waiting_;
      (void)std::rename((receipt_ + ".new").c_str(), receipt_.c_str());
      waiting_epoch_ = 0;
    }
    if (waiting_epoch_ != 0) return;
    waiting_ = moves;
    waiting_epoch_ = last_;
  }

  std::unique_ptr<Cluster> cluster_;
  Accounts accounts_;
  const std::uint64_t number_;
  const std::string receipt_;
  std::unique_ptr<ClusterWorker> worker_;
  std::int64_t moves_ = 0;
  std::uint64_t last_ = 0;
  std::int64_t waiting_ = 0;
  std::uint64_t waiting_epoch_ = 0;
};

int run(const std::string& file, NodeNumber node, const std::string& receipt) {
  ::signal(SIGTERM, [](int) { enough = true; });
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Bank bank(file, node, receipt);
  if (!bank.check()) return 1;
  bank.move();
  bank.leave();
  return 0;
}

}  // namespace
}  // namespace granary

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bank_node CLUSTER_FILE NODE RECEIPT\n");
    return 2;
  }
  return granary::run(argv[1], static_cast<granary::NodeNumber>(std::stoul(argv[2])), argv[3]);
}
