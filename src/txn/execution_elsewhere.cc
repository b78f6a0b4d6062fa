// Implements the part of Execution for keys whose home is another node. It passes operations on to the transaction's
// RemoteAccess, and dooms the transaction if they fail.

#include <algorithm>
#include <new>

#include "src/base/test_hooks.h"
#include "src/txn/execution.h"
#include "src/txn/multi_get.h"
#include "src/txn/remote_access.h"

namespace granary::txn {

namespace {

/// Runs an operation of RemoteAccess that reads. If the system has no memory for it, keys may have been noted by half,
/// as read and never looked for, so the transaction must end. `visiting`: whether the application's visitor runs. The
/// visitor's exceptions are its own.
template <typename Read>
AbortReason or_out_of_memory(Read&& read, const bool& visiting = false) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    if (visiting) throw;
    return AbortReason::kOutOfMemory;
  }
}

}  // namespace

Outcome Execution::find_elsewhere(RemoteGet& get) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  const AbortReason reason = or_out_of_memory([&] { return remote_->get({&get, 1}); });
  if (reason != AbortReason::kNone) return transaction_.doom_with(reason);
  return get.found ? Outcome::kOk : Outcome::kNotFound;
}

GetResult Execution::get_elsewhere(RemoteGet get, std::span<char> buffer) {
  const Outcome outcome = find_elsewhere(get);
  return outcome == Outcome::kOk ? copy_out(get.value, buffer) : GetResult{outcome, 0};
}

Outcome Execution::multi_get_elsewhere(GetsElsewhere<RemoteGet>& elsewhere) {
  if (remote_ == nullptr) return elsewhere.refuse(Outcome::kUnknownTable), Outcome::kOk;
  const AbortReason reason = or_out_of_memory([&] { return remote_->get(elsewhere.gets); });
  if (reason != AbortReason::kNone) return transaction_.doom_with(reason);
  for (std::size_t i = 0; i < elsewhere.gets.size(); ++i) {
    const RemoteGet& get = elsewhere.gets[i];
    MultiGet& asked = *elsewhere.asked[i];
    asked.result = get.found ? hand_out(get.value, asked) : GetResult{Outcome::kNotFound, 0};
  }
  return Outcome::kOk;
}

Outcome Execution::read_replaced_elsewhere(std::span<const MultiPut> puts) {
  if (remote_ == nullptr) return Outcome::kOk;
  const auto may_read = [](const MultiPut& put) {
    return put.outcome == Outcome::kOk && !put.table.core()->indexes().empty();
  };
  const auto most = static_cast<std::size_t>(std::count_if(puts.begin(), puts.end(), may_read));
  if (most == 0) return Outcome::kOk;
  base::Batch<RemoteGet> gets(local_.arena(), most);
  for (const MultiPut& put : puts) {
    if (!may_read(put)) continue;
    if (const Home home = home_elsewhere(*put.table.core(), put.key))
      gets.push_back({.key = {put.table.core(), *home, put.key}});
  }
  if (gets.empty()) return Outcome::kOk;
  const AbortReason reason = or_out_of_memory([&] { return remote_->get(gets); });
  return reason == AbortReason::kNone ? Outcome::kOk : transaction_.doom_with(reason);
}

Outcome Execution::declare_elsewhere(std::span<const DeclaredKey> keys) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  const AbortReason reason = or_out_of_memory([&] { return remote_->declare(keys); });
  return reason == AbortReason::kNone ? Outcome::kOk : transaction_.doom_with(reason);
}

Outcome Execution::write_elsewhere(std::uint16_t home, TableCore& table, std::string_view key, std::string_view value,
                                   const WriteRule& rule) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  // When the owner seals the table, it waits for its own transactions only, so no other node may write an immutable
  // table.
  if (table.is_immutable() && !base::injected("immutable-takes-remote-writes")) return Outcome::kImmutable;
  Outcome outcome = Outcome::kOk;
  const AbortReason reason = remote_->write({&table, home, key}, value, rule, outcome);
  return reason == AbortReason::kNone ? outcome : transaction_.doom_with(reason);
}

ScanResult Execution::scan_elsewhere(std::uint16_t home, TableCore& table, TableCore* index, const ScanRange& range,
                                     ScanFn visit) {
  if (remote_ == nullptr) return {Outcome::kUnknownTable, 0};
  ScanResult result;
  const std::uint64_t serial = transaction_.serial();
  bool visiting = false;
  const auto visit_one = [&](std::string_view key, std::string_view value) {
    visiting = true;
    const bool more = visit(key, value);
    visiting = false;
    result.outcome = transaction_.standing(serial);  // the callback may have ended the transaction, or doomed it
    return result.outcome == Outcome::kOk && more;
  };
  const AbortReason reason =
      or_out_of_memory([&] { return remote_->scan(table, index, home, range, visit_one, result); }, visiting);
  if (result.outcome != Outcome::kOk) return result;
  return reason == AbortReason::kNone ? result : ScanResult{transaction_.doom_with(reason), 0};
}

}  // namespace granary::txn
