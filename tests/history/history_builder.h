#pragma once
// Writes small histories by hand.

#include <cstdint>
#include <utility>
#include <vector>

#include "bench/append/history/history.h"

namespace granary::bench::history {

inline MicroOp a(Key key, Element element) { return MicroOp::append(key, element); }
inline MicroOp r(Key key, std::vector<Element> list) { return MicroOp::read(key, std::move(list)); }
/// Reads the last element; 0: of an empty list.
inline MicroOp last(Key key, Element element) {
  return MicroOp::last(key, element == 0 ? std::vector<Element>{} : std::vector<Element>{element});
}

/// Each transaction has a process of its own, so any of them may overlap.
class HistoryBuilder {
 public:
  using Ops = std::vector<MicroOp>;

  /// Begins; end() names it by the number returned.
  std::uint64_t begin(Ops ops) {
    const std::uint64_t process = processes_++;
    asked_.push_back(ops);
    for (MicroOp& op : ops) {
      if (op.kind != MicroOp::Kind::kAppend) op.known = false, op.list.clear();
    }
    add(EventType::kInvoke, process, std::move(ops));
    return process;
  }
  void end(std::uint64_t process, EventType type = EventType::kOk) { add(type, process, asked_[process]); }

  /// One after the other.
  HistoryBuilder& run(Ops ops, EventType type = EventType::kOk) {
    end(begin(std::move(ops)), type);
    return *this;
  }
  /// All open at the same time, so that real time orders none of them.
  HistoryBuilder& overlap(const std::vector<Ops>& transactions) {
    std::vector<std::uint64_t> open;
    for (const Ops& ops : transactions) open.push_back(begin(ops));
    for (const std::uint64_t process : open) end(process);
    return *this;
  }

  const History& history() const { return history_; }

 private:
  void add(EventType type, std::uint64_t process, Ops ops) {
    history_.push_back({type, process, time_ += 10, std::move(ops)});
  }

  History history_;
  std::vector<Ops> asked_;
  std::uint64_t processes_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace granary::bench::history
