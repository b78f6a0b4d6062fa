#include "bench/append/history/interpretation.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

namespace granary::bench::history {
namespace {

constexpr std::size_t kReportsOfEachKind = 3;

class Interpreter {
 public:
  explicit Interpreter(const History& history) : history_(history) {}

  Interpretation run() {
    pair_events();
    collect_origins();
    find_version_orders();
    for (TxnId txn = 0; txn < all_.txns.size(); ++txn) {
      if (all_.txns[txn].ending == EventType::kOk) read_through(txn);
    }
    find_lost_updates();
    return std::move(all_);
  }

 private:
  void report(Anomaly anomaly, std::string detail) {
    if (reported_[static_cast<std::size_t>(anomaly)]++ < kReportsOfEachKind)
      all_.found.push_back({anomaly, std::move(detail)});
  }

  void pair_events() {
    std::unordered_map<std::uint64_t, TxnId> open;
    for (std::size_t at = 0; at < history_.size(); ++at) {
      const Event& event = history_[at];
      const auto found = open.find(event.process);
      if (event.type == EventType::kInvoke) {
        if (found != open.end())
          report(Anomaly::kMalformed,
                 "process " + std::to_string(event.process) + " invokes twice, at " + std::to_string(at));
        open[event.process] = static_cast<TxnId>(all_.txns.size());
        all_.txns.push_back({EventType::kInfo, event.process, at, kNever, &event.ops});
        continue;
      }
      if (found == open.end()) {
        report(Anomaly::kMalformed, "a completion without an invocation at " + std::to_string(at));
        continue;
      }
      Txn& txn = all_.txns[found->second];
      txn.ending = event.type;
      if (event.type != EventType::kInfo) txn.completed = at;
      if (event.type == EventType::kOk) txn.ops = &event.ops;
      open.erase(found);
    }
  }

  void collect_origins() {
    for (TxnId txn = 0; txn < all_.txns.size(); ++txn) {
      const auto& ops = *all_.txns[txn].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != MicroOp::Kind::kAppend) continue;
        const bool last = std::none_of(
            ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, ops.end(),
            [&](const MicroOp& later) { return later.kind == MicroOp::Kind::kAppend && later.key == ops[i].key; });
        if (!all_.keys[ops[i].key].origins.emplace(ops[i].element, Origin{txn, last}).second) {
          report(Anomaly::kMalformed, "appended twice: " + describe(ops[i]));
        }
      }
    }
  }

  void find_version_orders() {
    std::unordered_map<Key, const std::vector<Element>*> longest;
    for (const Txn& txn : all_.txns) {
      if (txn.ending != EventType::kOk) continue;
      for (const MicroOp& op : *txn.ops) {
        if (op.kind != MicroOp::Kind::kRead || !op.known) continue;
        const auto*& list = longest[op.key];
        if (list == nullptr || op.list.size() > list->size()) list = &op.list;
      }
    }
    for (const auto& [key, list] : longest) all_.keys[key].order = *list;
  }

  /// Follows one committed transaction, and compares its reads with what they must show, given its own operations.
  void read_through(TxnId txn) {
    std::map<Key, std::vector<Element>> own;
    std::map<Key, std::size_t> seen;  // length of the list without the transaction's own appends
    for (const MicroOp& op : *all_.txns[txn].ops) {
      if (op.kind == MicroOp::Kind::kAppend) {
        own[op.key].push_back(op.element);
        continue;
      }
      if (!op.known) {
        report(Anomaly::kMalformed, "a committed read without a list: " + describe(all_, txn));
        continue;
      }
      check_elements(txn, op);
      const auto& mine = own[op.key];
      if (op.kind == MicroOp::Kind::kReadLast) {
        read_last(txn, op, mine, seen);
        continue;
      }
      if (op.list.size() < mine.size() || !std::equal(mine.rbegin(), mine.rend(), op.list.rbegin())) {
        report(Anomaly::kInternal, "own appends are not at the end of " + describe(op) + " in " + describe(all_, txn));
        continue;
      }
      const std::size_t external = op.list.size() - mine.size();
      const auto [before, first] = seen.emplace(op.key, external);
      if (!first && before->second != external) {
        report(Anomaly::kInternal, "two reads of one key differ: " + describe(all_, txn));
      }
      read_external(txn, op, external);
    }
  }

  /// Interprets the read of a last element. It tells the version, if that element's place in the list is known.
  void read_last(TxnId txn, const MicroOp& op, const std::vector<Element>& mine, std::map<Key, std::size_t>& seen) {
    if (!mine.empty()) {
      if (op.list != std::vector<Element>{mine.back()})
        report(Anomaly::kInternal,
               "the last element is not the own one: " + describe(op) + " in " + describe(all_, txn));
      return;
    }
    std::size_t length = 0;
    if (!op.list.empty()) {
      const std::vector<Element>& order = all_.keys[op.key].order;
      const auto place = std::find(order.begin(), order.end(), op.list.back());
      if (place == order.end()) return;
      length = static_cast<std::size_t>(place - order.begin()) + 1;
    }
    const auto [before, first] = seen.emplace(op.key, length);
    if (!first && before->second != length)
      report(Anomaly::kInternal, "two reads of one key differ: " + describe(all_, txn));
    note_read(txn, op.key, length);
  }

  void check_elements(TxnId txn, const MicroOp& op) {
    std::unordered_set<Element> distinct;
    const auto& origins = all_.keys[op.key].origins;
    for (const Element element : op.list) {
      if (!distinct.insert(element).second)
        report(Anomaly::kDuplicateElement,
               std::to_string(element) + " in " + describe(op) + " of " + describe(all_, txn));
      const auto origin = origins.find(element);
      if (origin == origins.end()) {
        report(Anomaly::kUnknownElement,
               std::to_string(element) + " in " + describe(op) + " of " + describe(all_, txn));
      } else if (all_.txns[origin->second.txn].ending == EventType::kFail) {
        report(Anomaly::kG1a, describe(all_, txn) + " read " + std::to_string(element) + " of the aborted " +
                                  describe(all_, origin->second.txn));
      }
    }
  }

  void read_external(TxnId txn, const MicroOp& op, std::size_t length) {
    const KeyVersions& versions = all_.keys[op.key];
    if (length > versions.order.size() ||
        !std::equal(op.list.begin(), op.list.begin() + static_cast<std::ptrdiff_t>(length), versions.order.begin())) {
      report(Anomaly::kIncompatibleOrder, describe(op) + " of " + describe(all_, txn) + " against " +
                                              describe(MicroOp::read(op.key, versions.order)));
      return;
    }
    note_read(txn, op.key, length);
  }

  /// Notes a read of the first `length` elements of the key's order.
  void note_read(TxnId txn, Key key, std::size_t length) {
    if (length != 0) {
      const KeyVersions& versions = all_.keys[key];
      const Element last = versions.order[length - 1];
      const auto origin = versions.origins.find(last);
      if (origin != versions.origins.end() && !origin->second.last && origin->second.txn != txn) {
        report(Anomaly::kG1b, describe(all_, txn) + " read " + std::to_string(last) + " of key " + std::to_string(key) +
                                  ", not the last append of " + describe(all_, origin->second.txn));
      }
    }
    all_.reads.push_back({txn, key, length});
  }

  void find_lost_updates() {
    std::map<std::pair<Key, std::size_t>, TxnId> updaters;
    for (const ExternalRead& read : all_.reads) {
      const auto& ops = *all_.txns[read.txn].ops;
      const bool appends = std::any_of(ops.begin(), ops.end(), [&](const MicroOp& op) {
        return op.kind == MicroOp::Kind::kAppend && op.key == read.key;
      });
      if (!appends) continue;
      const auto [first, fresh] = updaters.emplace(std::pair(read.key, read.length), read.txn);
      if (!fresh && first->second != read.txn) {
        report(Anomaly::kLostUpdate, "key " + std::to_string(read.key) + " at length " + std::to_string(read.length) +
                                         ": " + describe(all_, first->second) + " and " + describe(all_, read.txn));
      }
    }
  }

  const History& history_;
  Interpretation all_;
  std::array<std::size_t, 32> reported_{};
};

}  // namespace

std::string describe(const MicroOp& op) {
  if (op.kind == MicroOp::Kind::kAppend)
    return "append(" + std::to_string(op.key) + ", " + std::to_string(op.element) + ")";
  std::string text = op.kind == MicroOp::Kind::kReadLast ? "last(" : "read(";
  text += std::to_string(op.key) + ") = ";
  if (!op.known) return text + "?";
  text += "[";
  constexpr std::size_t kShown = 12;  // the end of a long list matters most
  if (op.list.size() > kShown) text += "... ";
  for (std::size_t i = op.list.size() > kShown ? op.list.size() - kShown : 0; i < op.list.size(); ++i) {
    text += std::to_string(op.list[i]) + (i + 1 == op.list.size() ? "" : " ");
  }
  return text + "]";
}

std::string describe(const Interpretation& all, TxnId txn) {
  const Txn& one = all.txns[txn];
  std::string text = "T" + std::to_string(txn) + " (process " + std::to_string(one.process);
  text += one.ending == EventType::kOk ? ", ok):" : one.ending == EventType::kFail ? ", fail):" : ", info):";
  for (const MicroOp& op : *one.ops) text += " " + describe(op);
  return text;
}

Interpretation interpret(const History& history) { return Interpreter(history).run(); }

}  // namespace granary::bench::history
