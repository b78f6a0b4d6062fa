#pragma once
// Findings of `granary cluster check` and `granary doctor`, and how they are shown.

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
  std::string mend = {};  ///< what to do about it; empty if kGood, and sometimes if kNote
};

using Findings = std::vector<Finding>;

void append(Findings& findings, Findings more);

/// Whether a finding keeps a node from starting or from being let in.
bool any_bad(std::span<const Finding> findings);

/// Returns a line for each finding, followed by a line that says how to mend it if there is a mend.
std::string text_of(std::span<const Finding> findings);
nlohmann::ordered_json json_of(std::span<const Finding> findings);

}  // namespace granary::cluster_check
