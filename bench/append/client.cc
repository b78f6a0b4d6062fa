#include "bench/append/client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "src/base/give_way.h"

namespace granary::bench::append {

using history::EventType;
using history::Key;
using history::MicroOp;

namespace {

/// A number of processes that the clients never need in one life. A client begins a new process when it does not learn
/// how a transaction ended.
constexpr std::uint64_t kProcessesOfLife = std::uint64_t{1} << 24;
/// The pause between attempts to reach a node that is not there; without it they would fill the history.
constexpr std::uint64_t kAbsent_us = 1'000;

}  // namespace

Client::Client(Worker& worker, const ClientPlace& place, std::uint32_t id, LetOthersRun let_others_run)
    : worker_(worker),
      let_others_run_(std::move(let_others_run)),
      place_(place),
      lists_(place.lists),
      slots_(place.slots),
      options_(place.options),
      random_(options_.seed, id),
      process_(id + place.earlier_lives * place.clients * kProcessesOfLife) {}

std::uint64_t Client::now() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - place_.start).count());
}

void Client::note(EventType type, std::vector<MicroOp> ops, bool snapshot) {
  history::Event event{type, process_, now(), std::move(ops), snapshot};
  if (place_.journal != nullptr) place_.journal->write(event);
  if (place_.keep) noted_.push_back(std::move(event));
}

void Client::run_one() {
  if (options_.snapshot_share != 0 && random_.chance(options_.snapshot_share)) {
    run_snapshot();
  } else {
    run_transaction();
  }
  const std::uint64_t pause_us = needs_absent_ ? std::max(options_.think_us, kAbsent_us) : options_.think_us;
  if (pause_us != 0) pause(pause_us);
}

void Client::pause(std::uint64_t us) {
  const auto end = Clock::now() + std::chrono::microseconds(us);
  if (!let_others_run_) std::this_thread::sleep_until(end);
  while (Clock::now() < end) let_others_run_();
}

void Client::note_abort(AbortReason reason) {
  needs_absent_ = reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering;
}

Client::Plan Client::make_plan() {
  Plan plan;
  const auto count = static_cast<std::size_t>(random_.between(options_.min_ops, options_.max_ops));
  if (random_.chance(options_.scan_share))
    plan_scan(plan, std::min<std::size_t>(1 + random_.below(count), slots_.size()));
  while (plan.ops.size() < count) {
    const auto slot = static_cast<std::uint32_t>(random_.below(slots_.size()));
    if (random_.chance(options_.read_share)) {
      const bool last = options_.last_share != 0 && random_.chance(options_.last_share);
      plan.ops.push_back(last ? MicroOp::last(slots_.current(slot)) : MicroOp::read(slots_.current(slot)));
    } else {
      const KeySlots::Append append = slots_.next(slot);
      plan.ops.push_back(MicroOp::append(append.key, append.element));
    }
  }
  return plan;
}

/// Plans a scan of adjacent keys. Some of them may be retired, or not be there yet, which only a valid node set can
/// tell.
void Client::plan_scan(Plan& plan, std::size_t count) {
  const Key first = slots_.current(static_cast<std::uint32_t>(random_.below(slots_.size())));
  plan.scan_count = count;
  plan.scan_order = random_.chance(0.5) ? Order::kAscending : Order::kDescending;
  for (std::size_t i = 0; i < count; ++i) plan.ops.push_back(MicroOp::read(first + static_cast<Key>(i)));
}

bool Client::scan(Transaction& transaction, Plan& plan) {
  auto lists = lists_.scan(transaction, plan.ops[plan.scan_begin].key, plan.scan_count, plan.scan_order);
  if (!lists) return false;
  for (std::size_t i = 0; i < plan.scan_count; ++i) {
    MicroOp& op = plan.ops[plan.scan_begin + i];
    op = MicroOp::read(op.key, std::move((*lists)[i]));
  }
  return true;
}

void Client::yield() {
  if (let_others_run_) let_others_run_();
  base::give_way();
}

bool Client::execute(Transaction& transaction, Plan& plan) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (options_.yield_share != 0 && random_.chance(options_.yield_share)) yield();
    if (plan.scan_count != 0 && i >= plan.scan_begin && i < plan.scan_begin + plan.scan_count) {
      if (i == plan.scan_begin && !scan(transaction, plan)) return false;
      continue;
    }
    if (!execute_one(transaction, plan.ops[i])) return false;
  }
  return true;
}

bool Client::execute_one(Transaction& transaction, MicroOp& op) {
  if (op.kind == MicroOp::Kind::kReadLast) {
    auto last = lists_.last(transaction, op.key);
    if (!last) return false;
    op = MicroOp::last(op.key, std::move(*last));
    return true;
  }
  const bool appends = op.kind == MicroOp::Kind::kAppend;
  const bool moves = appends && options_.move_share != 0 && random_.chance(options_.move_share);
  auto list = appends ? lists_.append(transaction, op.key, op.element, moves) : lists_.read(transaction, op.key);
  if (!list) return false;
  slots_.found(op.key, list->size());
  if (!appends) op = MicroOp::read(op.key, std::move(*list));
  return true;
}

void Client::run_transaction() {
  Plan plan = make_plan();
  if (plan.scan_count != 0 && random_.chance(0.5)) {  // the scan comes last, over the transaction's own appends
    std::rotate(plan.ops.begin(), plan.ops.begin() + static_cast<std::ptrdiff_t>(plan.scan_count), plan.ops.end());
    plan.scan_begin = plan.ops.size() - plan.scan_count;
  }
  const std::vector<MicroOp> asked = plan.ops;
  note(EventType::kInvoke, asked);
  Transaction transaction = worker_.begin();
  const bool declared = !options_.declare || plan.scan_count != 0 || lists_.declare(transaction, plan.ops);
  const bool executed = declared && execute(transaction, plan);
  EventType ending = EventType::kFail;
  needs_absent_ = false;
  if (!executed || random_.chance(options_.abort_share)) {
    transaction.abort();
    note_abort(transaction.aborted());  // only then it tells why it could not go on
  } else {
    ending = commit(transaction);
  }
  if (options_.forget_share != 0 && random_.chance(options_.forget_share)) ending = EventType::kInfo;
  note(ending, ending == EventType::kOk ? std::move(plan.ops) : asked);
  if (ending == EventType::kInfo) process_ += place_.clients;
}

EventType Client::commit(Transaction& transaction) {
  const CommitResult done = transaction.commit();
  note_abort(done.reason);
  if (!done.committed()) return EventType::kFail;
  return !options_.released || await_release(done.ticket) ? EventType::kOk : EventType::kInfo;
}

bool Client::await_release(const Ticket& ticket) {
  if (!let_others_run_) return place_.database.wait_released(ticket).ok();
  const auto end = Clock::now() + std::chrono::microseconds(Database::kReleaseTimeout_us);
  Status released = place_.database.wait_released(ticket, 0);
  while (released.code() == StatusCode::kUnavailable && Clock::now() < end) {
    let_others_run_();
    released = place_.database.wait_released(ticket, 0);
  }
  return released.ok();
}

void Client::run_snapshot() {
  std::vector<MicroOp> ops;
  const auto count = static_cast<std::size_t>(random_.between(options_.min_ops, options_.max_ops));
  for (std::size_t i = 0; i < count; ++i) {
    ops.push_back(MicroOp::read(slots_.current(static_cast<std::uint32_t>(random_.below(slots_.size())))));
  }
  note(EventType::kInvoke, ops, true);
  Snapshot snapshot = worker_.snapshot();
  for (MicroOp& op : ops) {
    auto list = lists_.read(snapshot, op.key);
    if (!list) {  // a snapshot never fails; if it does, the history shows it
      note(EventType::kFail, std::move(ops), true);
      return;
    }
    op = MicroOp::read(op.key, std::move(*list));
  }
  snapshot.finish();
  note(EventType::kOk, std::move(ops), true);
}

Status Client::read_quietly(const std::vector<Key>& keys) {
  constexpr auto kPatience = std::chrono::seconds(10);
  for (const auto end = Clock::now() + kPatience;;) {
    Plan plan;
    for (const Key key : keys) {
      plan.ops.push_back(MicroOp::read(key));
      if (lists_.layout().lasts) plan.ops.push_back(MicroOp::last(key));
    }
    const std::vector<MicroOp> asked = plan.ops;
    note(EventType::kInvoke, asked);
    Transaction transaction = worker_.begin();
    const bool executed = execute(transaction, plan);
    if (!executed) transaction.abort();  // only then it tells why it could not go on
    const AbortReason reason = executed ? transaction.commit().reason : transaction.aborted();
    const bool committed = executed && reason == AbortReason::kNone;
    note(committed ? EventType::kOk : EventType::kFail, committed ? std::move(plan.ops) : asked);
    if (committed) return {};
    if (is_retryable(reason) && Clock::now() < end) continue;
    return Status(reason == AbortReason::kMembershipLost ? StatusCode::kMembershipLost : StatusCode::kUnavailable,
                  "the lists cannot be read at the end: " + std::string(meaning(reason)));
  }
}

}  // namespace granary::bench::append
