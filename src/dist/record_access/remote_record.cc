#include "src/dist/record_access/remote_record.h"

#include "src/base/test_hooks.h"
#include "src/dist/record_access/outcome.h"

namespace granary::dist {

RemoteRecord RemoteRecord::at_entry(const rdma::RemoteAddress& entry, std::string_view key, std::uint64_t incarnation,
                                    std::uint32_t max_value_bytes) {
  RemoteRecord record{.at = entry, .key = key, .incarnation = incarnation, .max_value_bytes = max_value_bytes};
  record.at.offset -= offsetof(record::SharedRecord, head);
  return record;
}

bool RemoteRecord::is(const record::SharedRecord& copy) const {
  const std::uint64_t there = record::incarnation_of(copy.head.size_word);
  const bool same_life =
      ((there ^ incarnation) & incarnation_mask) == 0 || base::injected(base::Bug::kIgnoreIncarnation);
  return same_life && record::is_latest(copy.head.tid_word) &&
         record::fingerprint_of(copy.check_word) == record::key_fingerprint(key) &&
         std::string_view(reinterpret_cast<const char*>(copy.key_words()), key.size()) == key;
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOpen: return "open";
    case Outcome::kDone: return "done";
    case Outcome::kMissing: return "missing";
    case Outcome::kMoved: return "moved";
    case Outcome::kChanged: return "changed";
    case Outcome::kBusy: return "busy";
    case Outcome::kNotHeld: return "not held";
    case Outcome::kBroken: return "connection broken";
    case Outcome::kStale: return "of an earlier life of the node";
    case Outcome::kRefused: return "outside of the node's regions";
  }
  return "";
}

}  // namespace granary::dist
