#pragma once
// What `granary cluster check` and `granary doctor` find, and how it is shown.

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace granary::cluster_check {

enum class Verdict {
  kGood,
  kNote,     ///< worth knowing; nothing is wrong
  kWarning,  ///< works, but slower or with less protection
  kBad,
};

struct Finding {
  std::string subject;  ///< "huge pages"
  Verdict verdict = Verdict::kGood;
  std::string found = {};
  std::string mend = {};  ///< what to do about it; empty if kGood, and may be if kNote
};

using Findings = std::vector<Finding>;

void append(Findings& findings, Findings more);

/// Whether a node would not start, or would not be let in.
bool any_bad(std::span<const Finding> findings);

/// A line for each, and one below it that says how to mend it.
std::string text_of(std::span<const Finding> findings);
nlohmann::ordered_json json_of(std::span<const Finding> findings);

}  // namespace granary::cluster_check
