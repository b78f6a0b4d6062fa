#include "bench/store/two_pc/coordinator.h"

#include <algorithm>
#include <utility>

#include "bench/store/two_pc/work.h"

namespace granary::bench::two_pc {

namespace {

void hand_over(const Get& get, bool present, std::string_view value) {
  *get.found = present && value.size() == get.bytes;
  if (*get.found) std::memcpy(get.row, value.data(), value.size());
}

/// Returns the write of this row, or nullptr if there is none.
template <typename Writes>
auto* find(Writes& writes, const RowKey& key) {
  const auto found = std::find_if(writes.begin(), writes.end(), [&](const Write& one) { return one.key == key; });
  return found == writes.end() ? nullptr : &*found;
}

}  // namespace

Coordinator::Participant& Coordinator::join(std::uint32_t node) {
  Participant& participant = participants_[node];
  if (node != own_ && !participant.joined) {
    participant.joined = true;
    joined_.push_back(node);
  }
  return participant;
}

bool Coordinator::get(std::span<const Get> gets) {
  const bool done = get_all(gets);
  failed_ = failed_ || !done;
  participants_[own_].forget_gets();
  for (const std::uint32_t node : joined_) participants_[node].forget_gets();
  return done;
}

bool Coordinator::get_all(std::span<const Get> gets) {
  for (const Get& get : gets) {
    const RowKey key{get.table->number, 0, get.key};
    Participant& there = join(home(*get.table, get.key));
    if (const Write* const own = find(there.writes, key); own != nullptr) {
      hand_over(get, own->kind != Write::Kind::kRemove, own->value);
      continue;
    }
    there.wanted.push_back({key, get.write ? 1u : 0u});
    there.gets.push_back(&get);
  }
  return get_here() && get_there();
}

bool Coordinator::get_here() {
  const Participant& here = participants_[own_];
  return here.wanted.empty() || local_.read(here.wanted, [&](std::size_t i, bool present, std::string_view value) {
    hand_over(*here.gets[i], present, value);
  });
}

bool Coordinator::get_there() {
  calls_.clear();
  for (const std::uint32_t node : joined_) {
    if (const Participant& there = participants_[node]; !there.wanted.empty())
      calls_.push_back({.node = node, .kind = Kind::kRead, .body = body_of_read(there.wanted)});
  }
  if (!ask()) return false;
  return std::all_of(calls_.begin(), calls_.end(), [this](const Call& call) {
    const Participant& there = participants_[call.node];
    return take_rows(call.answer, there.wanted.size(), [&](std::size_t i, bool present, std::string_view value) {
      hand_over(*there.gets[i], present, value);
    });
  });
}

bool Coordinator::scan(const TableEntry& table, Range range, const TakeRow& take) {
  range.table = table.number;
  const std::uint32_t node = home(table, range.from);
  bool done = false;
  if (node == own_) {
    done = local_.scan(range, take);
  } else {
    join(node);
    calls_.assign(1, {.node = node, .kind = Kind::kScan, .body = body_of_scan(range)});
    done = ask() && take_range(calls_.front().answer, take);
  }
  failed_ = failed_ || !done;
  return done;
}

void Coordinator::write(const TableEntry& table, std::uint64_t key, Write::Kind kind, std::string value) {
  const RowKey row{table.number, 0, key};
  std::vector<Write>& writes = join(home(table, key)).writes;
  Write* const earlier = find(writes, row);
  if (earlier == nullptr) {
    writes.push_back({row, kind, std::move(value)});
  } else if (earlier->kind == Write::Kind::kInsert && kind == Write::Kind::kRemove) {
    std::erase_if(writes, [&](const Write& one) { return one.key == row; });
  } else {
    if (earlier->kind != Write::Kind::kInsert)
      earlier->kind = kind == Write::Kind::kRemove ? kind : Write::Kind::kUpdate;
    earlier->value = std::move(value);
  }
}

bool Coordinator::ask() {
  if (calls_.empty()) return true;
  const bool answered = peers_.ask(calls_);
  lost_ = lost_ || !answered;
  return answered;
}

bool Coordinator::commit() {
  const bool committed = !failed_ && prepare();
  committed ? end(Kind::kCommit) : roll_back();
  return committed;
}

/// Runs the first phase, or both in one. Returns whether all participants are ready.
bool Coordinator::prepare() {
  std::vector<Write>& here = participants_[own_].writes;
  calls_.clear();
  for (const std::uint32_t node : joined_) {
    if (const Participant& there = participants_[node]; !there.writes.empty())
      calls_.push_back({.node = node, .kind = Kind::kPrepare, .body = body_of_writes(there.writes)});
  }
  if (calls_.empty()) return local_.finish(here);
  if (calls_.size() == 1 && here.empty()) calls_.front().kind = Kind::kFinish;
  if (!local_.prepare(here) || !ask()) return false;
  return std::all_of(calls_.begin(), calls_.end(), [](const Call& call) { return is_yes(call.answer); });
}

void Coordinator::roll_back() { end(Kind::kRelease); }

/// Runs the second phase, and waits for no answer. The worker's next request reaches a node after this message, as it
/// uses the same connection, and other transactions find the locks until then. Nodes that were only read hold their
/// locks until now, too: until all votes are in, other participants may still take new locks, and two-phase locking
/// releases none before the last is taken.
void Coordinator::end(Kind told_to_writers) {
  told_to_writers == Kind::kCommit ? local_.commit() : local_.release();
  participants_[own_].writes.clear();
  // A transaction that has lost a conflict at this node, before it asked another one, does not count.
  distributed_ += std::exchange(round_trips_before_, traffic().round_trips) == traffic().round_trips ? 0 : 1;
  const bool finished = calls_.size() == 1 && calls_.front().kind == Kind::kFinish;
  for (const std::uint32_t node : joined_) {
    Participant& there = participants_[node];
    if (!finished || there.writes.empty())  // the node that has finished holds no locks
      peers_.tell(node, there.writes.empty() ? Kind::kRelease : told_to_writers);
    there.writes.clear();
    there.joined = false;
  }
  joined_.clear();
  calls_.clear();
}

}  // namespace granary::bench::two_pc
