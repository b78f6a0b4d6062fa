#include "bench/append/history/check.h"

#include <algorithm>

#include "bench/append/history/dependency_graph.h"
#include "bench/append/history/interpretation.h"

namespace granary::bench::history {

std::string_view name(Anomaly anomaly) {
  switch (anomaly) {
    case Anomaly::kMalformed: return "malformed history";
    case Anomaly::kDuplicateElement: return "duplicate element";
    case Anomaly::kUnknownElement: return "unknown element";
    case Anomaly::kMissingElement: return "missing element";
    case Anomaly::kIncompatibleOrder: return "incompatible order";
    case Anomaly::kInternal: return "internal inconsistency";
    case Anomaly::kG1a: return "G1a aborted read";
    case Anomaly::kG1b: return "G1b intermediate read";
    case Anomaly::kLostUpdate: return "P4 lost update";
    case Anomaly::kG0: return "G0 dirty write";
    case Anomaly::kG1c: return "G1c circular information flow";
    case Anomaly::kGSingle: return "G-single read skew";
    case Anomaly::kG2Item: return "G2-item write skew";
    case Anomaly::kG0RealTime: return "G0 with real time";
    case Anomaly::kG1cRealTime: return "G1c with real time";
    case Anomaly::kGSingleRealTime: return "G-single with real time";
    case Anomaly::kG2ItemRealTime: return "G2-item with real time";
  }
  return "?";
}

bool Verdict::has(Anomaly anomaly) const {
  return std::any_of(found.begin(), found.end(), [&](const Found& one) { return one.anomaly == anomaly; });
}

bool Verdict::malformed() const {
  return !found.empty() &&
         std::all_of(found.begin(), found.end(), [](const Found& one) { return one.anomaly == Anomaly::kMalformed; });
}

std::string Verdict::text() const {
  std::string text = valid()         ? "valid: "
                     : found.empty() ? "NOTHING TO JUDGE, as nothing that appends has committed: "
                                     : "INVALID: ";
  text += std::to_string(committed) + " committed, " + std::to_string(aborted) + " aborted, " +
          std::to_string(unknown) + " unknown, " + std::to_string(keys) + " keys, " + std::to_string(elements) +
          " versions";
  for (const Found& one : found) {
    text += "\n  ";
    text += name(one.anomaly);
    text += ": " + one.detail;
  }
  return text;
}

namespace {

bool appends(const Txn& txn) {
  return std::any_of(txn.ops->begin(), txn.ops->end(),
                     [](const MicroOp& op) { return op.kind == MicroOp::Kind::kAppend; });
}

}  // namespace

Verdict check(const History& history, const CheckOptions& options) {
  Interpretation all = interpret(history);
  Verdict verdict;
  for (const Txn& txn : all.txns) {
    if (txn.ending == EventType::kOk) ++verdict.committed;
    if (txn.ending == EventType::kOk && appends(txn)) ++verdict.writers;
    if (txn.ending == EventType::kFail) ++verdict.aborted;
    if (txn.ending == EventType::kInfo) ++verdict.unknown;
  }
  for (const auto& [key, versions] : all.keys) {
    if (versions.order.empty()) continue;
    ++verdict.keys;
    verdict.elements += versions.order.size();
  }
  verdict.found = std::move(all.found);
  std::vector<Found> cycles = find_cycles(all, options);
  verdict.found.insert(verdict.found.end(), cycles.begin(), cycles.end());
  return verdict;
}

}  // namespace granary::bench::history
