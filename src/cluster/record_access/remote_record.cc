#include "src/cluster/record_access/remote_record.h"

#include <cstring>

#include "src/base/test_hooks.h"
#include "src/record/checksum.h"

namespace granary::cluster {
namespace {

/// Compares keys, which mostly have one word, so that a call would take long.
bool starts_with(const std::uint64_t* words, std::string_view key) {
  for (; key.size() >= base::kWord; key.remove_prefix(base::kWord), ++words) {
    if (std::memcmp(words, key.data(), base::kWord) != 0) return false;
  }
  return key.empty() || std::memcmp(words, key.data(), key.size()) == 0;
}

}  // namespace

bool RemoteRecord::is(const record::SharedRecord& copy) const {
  const std::uint64_t there = record::incarnation_of(copy.head.size_word);
  const bool same_life = ((there ^ incarnation) & incarnation_mask) == 0 || base::injected("ignore-incarnation");
  return same_life && record::is_latest(copy.head.tid_word) &&
         record::fingerprint_of(copy.check_word) == record::key_fingerprint(key) && starts_with(copy.key_words(), key);
}

std::optional<std::string_view> whole_value(const RemoteRecord& record, const record::SharedRecord& copy) {
  const std::uint64_t size_word = copy.head.size_word;
  if (record::size_of(size_word) > record.max_value_bytes) return std::nullopt;
  const std::string_view value(reinterpret_cast<const char*>(record::value_words(copy, record.key.size())),
                               record::size_of(size_word));
  const std::uint32_t sum = record::checksum_of_content(record.key, value);
  const bool whole =
      record::checksum_with_header(sum, copy.head.tid_word, size_word) == record::checksum_of(copy.check_word);
  return whole || base::injected("skip-remote-checksum") ? std::optional(value) : std::nullopt;
}

}  // namespace granary::cluster
