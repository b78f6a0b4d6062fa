// List-append transactions of several workers, stepped on one thread in a random order, also inside one another's
// commits and reads (at sync points); the history must be strictly serializable. Every seed replays exactly. With a
// shared table another node appends, too, whose locks and write-backs take many steps. Lists may also be read and
// written as parts of values, or together with a record of their last element (Lists).

#include <algorithm>
#include <random>

#include "bench/append/history/check.h"
#include "bench/append/key_slots.h"
#include "bench/append/lists.h"
#include "src/base/test_hooks.h"
#include "tests/isolation/remote_holder.h"
#include "tests/support/manual_database.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

using namespace bench::append;
using bench::history::EventType;
using bench::history::History;
using bench::history::MicroOp;

constexpr std::uint32_t kLongest = 20;

/// Lists in values of one size. An element is a part of its list's value, and is zero until it is appended.
class ListsInParts {
 public:
  explicit ListsInParts(Table table) : table_(table) {}

  std::optional<List> read(Transaction& t, bench::history::Key key) const {
    List list(kLongest);
    const GetResult got =
        t.get_part(table_, encode_key(key), 0, {reinterpret_cast<char*>(list.data()), kLongest * sizeof(Element)});
    if (got.outcome != Outcome::kOk && got.outcome != Outcome::kNotFound) return std::nullopt;
    list.resize(got ? static_cast<std::size_t>(std::find(list.begin(), list.end(), Element{0}) - list.begin()) : 0);
    return list;
  }
  /// Returns the list without the element.
  std::optional<List> append(Transaction& t, bench::history::Key key, Element element) const {
    std::optional<List> list = read(t, key);
    if (!list) return std::nullopt;
    Outcome written = Outcome::kOk;
    if (list->empty()) {
      List whole(kLongest);
      whole[0] = element;
      written = t.put(table_, encode_key(key), bytes_of(whole[0], kLongest));
    } else {
      written = t.update_part(table_, encode_key(key), list->size() * sizeof element, bytes_of(element, 1));
    }
    return written == Outcome::kOk ? list : std::nullopt;
  }

 private:
  static std::string_view bytes_of(const Element& first, std::size_t count) {
    return {reinterpret_cast<const char*>(&first), count * sizeof first};
  }

  Table table_;
};

/// How lists are written.
enum class Layout : std::uint8_t {
  kWhole,
  kInParts,    ///< an element at a time
  kWithLasts,  ///< with their last elements, half of them by a multi_put
};

class Interleaver {
 public:
  Interleaver(unsigned seed, std::size_t clients, const Options& options, const TableOptions& table, Layout layout)
      : random_(seed),
        db_(clients, options),
        table_(db_.table("lists", table)),
        lists_(table_, {.lasts = layout == Layout::kWithLasts}),
        slots_(3, kLongest),
        open_(clients) {
    if (layout == Layout::kInParts) in_parts_.emplace(table_);
    if (!base::kTestHooks) return;
    base::set_sync_hook([this](std::string_view point) {
      // There a simulated region keeps others waiting; and here a transaction is about to begin, which is no step of a
      // client's yet.
      if (point != "region.storing" && point != "epoch.seen") interrupt();
    });
  }
  ~Interleaver() { base::set_sync_hook({}); }

  History run(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      step(random_() % open_.size());
      if (random_() % 40 == 0) db_->step();
    }
    base::set_sync_hook({});
    while (remote_.back) step_remote();
    for (Client& client : open_) {
      if (client.transaction.open()) finish(client, false);
    }
    for (const bench::history::Key key : slots_.all()) read_alone(key);
    return history_;
  }
  /// Returns how often the other node has appended.
  std::size_t remote_appends() const { return remote_appends_; }

 private:
  struct Client {
    Transaction transaction;
    std::uint64_t process = 0;
    std::vector<MicroOp> ops;
    std::size_t next = 0;
    bool running = false;  // inside one of its calls: it cannot be stepped
  };

  /// At a sync point of one client, now and then, another goes on; to a limited depth.
  void interrupt() {
    constexpr int kDeepest = 3;
    if (depth_ >= kDeepest || random_() % 6 != 0) return;
    ++depth_;
    for (int steps = static_cast<int>(random_() % 6); steps >= 0; --steps) step(random_() % open_.size());
    for (unsigned steps = random_() % 6; table_.core()->is_shared() && steps != 0; --steps) step_remote();
    --depth_;
  }

  // --- another node's appends, to lists that are there ---

  struct Remote {
    std::optional<RemoteHolder> holder;
    std::optional<WriteBack> back;  // while the record is held
    Client client;
  };

  void step_remote() {
    if (!remote_.back) {
      begin_remote();
    } else if (!remote_.back->done()) {
      for (unsigned words = random_() % 32; words != 0 && !remote_.back->done(); --words) remote_.back->step();
    } else {
      remote_.holder->release();
      remote_.back.reset();
      note(EventType::kOk, remote_.client);
    }
  }

  void begin_remote() {
    const auto slot = static_cast<std::uint32_t>(random_() % slots_.size());
    const std::string key = Lists::first_key(slots_.current(slot));
    if (!in_index(table_, key)) return;
    record::SharedRecord& record = shared_record(table_, key);
    remote_.holder.emplace(record, 7, ++remote_locks_);
    if (!remote_.holder->lock()) return;
    ++remote_appends_;
    const KeySlots::Append append = slots_.next(slot);
    remote_.client.process = open_.size() + 1;
    remote_.client.ops = {MicroOp::append(append.key, append.element)};
    note(EventType::kInvoke, remote_.client);
    std::string list(record.head.size(), '\0');
    base::copy_from_shared(list.data(), value_words(record, key.size()), list.size());
    list.append(reinterpret_cast<const char*>(&append.element), sizeof append.element);
    remote_.back.emplace(record, key, list, remote_.holder->next_tid(db_->current_epoch()));
    remote_.back->shuffle(random_);
  }

  void step(std::size_t index) {
    Client& client = open_[index];
    if (client.running) return;
    client.running = true;
    if (!client.transaction.open()) {
      begin(client, index);
    } else if (client.next == client.ops.size()) {
      finish(client, client.transaction.commit().committed());
    } else if (!execute(client, client.ops[client.next++])) {
      client.transaction.abort();
      finish(client, false);
    }
    client.running = false;
  }

  void begin(Client& client, std::size_t index) {
    client.ops.clear();
    client.next = 0;
    client.process = index;
    for (unsigned op = 0; op <= random_() % 4; ++op) {
      const auto slot = static_cast<std::uint32_t>(random_() % slots_.size());
      if (random_() % 2 == 0) {
        const bool last = lists_.layout().lasts && random_() % 2 == 0;
        client.ops.push_back(last ? MicroOp::last(slots_.current(slot)) : MicroOp::read(slots_.current(slot)));
      } else {
        const KeySlots::Append append = slots_.next(slot);
        client.ops.push_back(MicroOp::append(append.key, append.element));
      }
    }
    note(EventType::kInvoke, client);
    client.transaction = db_.worker(index).begin();
  }

  bool execute(Client& client, MicroOp& op) {
    Transaction& t = client.transaction;
    if (op.kind == MicroOp::Kind::kAppend) {
      return (in_parts_ ? in_parts_->append(t, op.key, op.element) : lists_.append(t, op.key, op.element)).has_value();
    }
    const bool last = op.kind == MicroOp::Kind::kReadLast;
    auto list = last ? lists_.last(t, op.key) : in_parts_ ? in_parts_->read(t, op.key) : lists_.read(t, op.key);
    if (list) op = last ? MicroOp::last(op.key, std::move(*list)) : MicroOp::read(op.key, std::move(*list));
    return list.has_value();
  }

  void finish(Client& client, bool committed) { note(committed ? EventType::kOk : EventType::kFail, client); }

  void note(EventType type, const Client& client) { history_.push_back({type, client.process, ++time_, client.ops}); }

  void read_alone(bench::history::Key key) {
    Client reader;
    reader.process = open_.size();
    reader.ops = {MicroOp::read(key)};
    note(EventType::kInvoke, reader);
    reader.transaction = db_.begin();
    EXPECT_TRUE(execute(reader, reader.ops[0]));
    EXPECT_TRUE(reader.transaction.commit().committed());
    note(EventType::kOk, reader);
  }

  std::mt19937 random_;
  ManualDatabase db_;
  const Table table_;
  Lists lists_;
  std::optional<ListsInParts> in_parts_;  // instead of lists_
  KeySlots slots_;
  std::vector<Client> open_;
  History history_;
  std::uint64_t time_ = 0;
  int depth_ = 0;
  Remote remote_;
  std::uint32_t remote_locks_ = 0;
  std::size_t remote_appends_ = 0;
};

/// Strictly, where the protocol keeps real time within an epoch, too. Otherwise the order of each worker's own
/// transactions counts, if the options ask for it. Each client has a worker of its own.
void expect_serializable(const Options& options, const TableOptions& table = {}, unsigned seeds = 40,
                         Layout layout = Layout::kWhole) {
  const bench::history::CheckOptions judged{.strict = asked_protocol.in_real_time, .sessions = options.session_order};
  // A lock's holder is of this very thread, so each wait for one is as long as it can be.
  seeds = static_cast<unsigned>(tests::sampled(seeds));
  if (asked_protocol.name == "dl_detect") seeds = std::max(2u, seeds / 20);
  std::size_t committed = 0, aborted = 0, remote = 0;
  for (const std::uint64_t one : tests::seeds(seeds, 0)) {
    const auto seed = static_cast<unsigned>(one);
    Interleaver interleaver(seed, 2 + seed % 5, options, table, layout);
    const bench::history::Verdict verdict = check(interleaver.run(2000), judged);
    EXPECT_TRUE(verdict.valid()) << "seed " << seed << ": " << verdict.text();
    committed += verdict.committed;
    aborted += verdict.aborted;
    remote += interleaver.remote_appends();
    if (testing::Test::HasFailure()) return;
  }
  if (!all_seeds()) return;
  EXPECT_GT(committed, 12 * seeds);
  EXPECT_GT(aborted, 12 * seeds) << "hardly a conflict; the test saw nothing";
  EXPECT_TRUE(!table.shared || remote > seeds) << remote << " appends of the other node";
}

TEST(RandomInterleaving, IsSerializable) { expect_serializable(manual_options()); }

TEST(RandomInterleaving, IsSerializableInParts) {
  if (!asked_protocol.reads_parts) GTEST_SKIP() << "another protocol has them";
  expect_serializable(manual_options(), {}, 15, Layout::kInParts);
  if (asked_protocol.name != "tictoc") return;
  Options options = manual_options();
  options.session_order = options.tictoc_history = true;
  expect_serializable(options, {}, 5, Layout::kInParts);
}

TEST(RandomInterleaving, IsSerializableWithPutsTogether) {
  expect_serializable(manual_options(), {}, 5, Layout::kWithLasts);
}

TEST(RandomInterleaving, IsSerializableWithTicTocsOptimizations) {
  if (asked_protocol.name != "tictoc") GTEST_SKIP() << "another protocol";
  Options options = manual_options();
  options.tictoc_no_wait = options.tictoc_preempt = options.tictoc_history = true;
  // Its waits, too, are for a holder of this very thread.
  expect_serializable(options, {}, 6);
}

TEST(RandomInterleaving, IsSerializableInTheOrderOfSessions) {
  if (asked_protocol.name != "tictoc") GTEST_SKIP() << "another protocol";
  Options options = manual_options();
  options.session_order = true;
  expect_serializable(options, {}, 10);
}

TEST(RandomInterleaving, IsSerializableWithRegions) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  if (!asked_protocol.commits_in_region) GTEST_SKIP() << "another protocol has them";
  Options options = manual_options();
  options.htm = Htm::kSim;
  expect_serializable(options);
}

TEST(RandomInterleaving, IsSerializableBesideAnotherNode) {
  if (!asked_protocol.reaches_shared || !asked_protocol.has_leases) GTEST_SKIP() << "another protocol has them";
  expect_serializable(manual_options(), {.max_value_bytes = kLongest * sizeof(bench::append::Element), .shared = true},
                      5);
}

}  // namespace
}  // namespace granary::tests
