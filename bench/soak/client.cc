// Runs the requests of the soak test.

#include <utility>

#include "bench/harness/attempts.h"
#include "bench/soak/workload.h"
#include "src/base/random.h"

namespace granary::bench::soak {

namespace {

enum class Type : std::uint8_t { kUpdate, kChurn, kQueue, kSnapshot };

class SoakClient final : public Client {
 public:
  SoakClient(Worker worker, const Tables& tables, const Parameters& parameters, std::uint32_t id)
      : worker_(std::move(worker)),
        tables_(tables),
        parameters_(parameters),
        id_(id),
        random_(parameters.seed, id + 1) {}

  Request run_one() override {
    const Type type = draw();
    AbortCounts& counts = aborts(static_cast<std::uint8_t>(type));
    switch (type) {
      case Type::kUpdate: return {static_cast<std::uint8_t>(type), update(counts)};
      case Type::kChurn: return {static_cast<std::uint8_t>(type), churn(counts)};
      case Type::kQueue: return {static_cast<std::uint8_t>(type), move_queue(counts)};
      case Type::kSnapshot: break;
    }
    return {static_cast<std::uint8_t>(type), read_snapshot()};
  }

  void idle() override { worker_.collect_garbage(); }

 private:
  Type draw() {
    const std::uint64_t share = random_.below(100);
    if (share < 60) return Type::kUpdate;
    if (share < 80) return Type::kChurn;
    if (share < 98 || !parameters_.snapshots) return Type::kQueue;
    return Type::kSnapshot;
  }

  /// Updates a record with a value of another size, so that records outgrow their place, shrink, and leave old
  /// versions.
  Ending update(AbortCounts& counts) {
    const EncodedKey<std::uint64_t> key(random_.below(parameters_.keys));
    fill(value_, parameters_, random_);
    return run_to_end(worker_, random_, counts,
                      [&](Transaction& t) { static_cast<void>(t.put(tables_.updated, key.view(), value_)); });
  }

  /// Deletes the record if it is there, else inserts it.
  Ending churn(AbortCounts& counts) {
    const EncodedKey<std::uint64_t> key(random_.below(parameters_.keys));
    fill(value_, parameters_, random_);
    return run_to_end(worker_, random_, counts, [&](Transaction& t) {
      if (t.remove(tables_.churned, key.view()) == Outcome::kNotFound)
        static_cast<void>(t.insert(tables_.churned, key.view(), value_));
    });
  }

  /// Inserts at the head of the queue, and deletes at its tail if it is long enough, so that leaves of the index fill
  /// and empty.
  Ending move_queue(AbortCounts& counts) {
    const EncodedKey<std::pair<std::uint32_t, std::uint64_t>> head({id_, head_});
    fill(value_, parameters_, random_);
    const bool full = head_ - tail_ >= parameters_.queue_length;
    const EncodedKey<std::pair<std::uint32_t, std::uint64_t>> tail({id_, tail_});
    const Ending ending = run_to_end(worker_, random_, counts, [&](Transaction& t) {
      static_cast<void>(t.put(tables_.queues, head.view(), value_));
      if (full) static_cast<void>(t.remove(tables_.queues, tail.view()));
    });
    if (ending == Ending::kCommitted) {
      ++head_;
      if (full) ++tail_;
    }
    return ending;
  }

  /// Reads neighbouring records as they were about a second ago, which keeps old versions alive.
  Ending read_snapshot() {
    constexpr std::size_t kRecords = 200;
    const EncodedKey<std::uint64_t> from(random_.below(parameters_.keys));
    Snapshot snapshot = worker_.snapshot();
    std::size_t seen = 0;
    const auto visit = [&](std::string_view, std::string_view) {
      ++seen;
      return true;
    };
    const ScanResult done = snapshot.scan(tables_.updated, {.from = from.view(), .limit = kRecords}, visit);
    return done ? Ending::kCommitted : Ending::kGaveUp;
  }

  Worker worker_;
  const Tables tables_;
  const Parameters parameters_;
  const std::uint32_t id_;
  base::Random random_;
  std::string value_;
  std::uint64_t head_ = parameters_.queue_length, tail_ = 0;
};

}  // namespace

std::vector<std::string> soak_types(bool snapshots) {
  std::vector<std::string> types{"update", "churn", "queue"};
  if (snapshots) types.emplace_back("snapshot");
  return types;
}

std::unique_ptr<Client> make_soak_client(Worker worker, const Tables& tables, const Parameters& parameters,
                                         std::uint32_t id) {
  return std::make_unique<SoakClient>(std::move(worker), tables, parameters, id);
}

}  // namespace granary::bench::soak
