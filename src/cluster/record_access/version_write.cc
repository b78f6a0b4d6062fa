#include "src/cluster/record_access/version_write.h"

#include <cstring>

#include "src/base/check.h"
#include "src/record/checksum.h"

namespace granary::cluster {

void VersionWrite::set(record::TidWord tid, std::uint64_t incarnation, std::string_view value) {
  base::invariant("I3", value.size() <= record_.max_value_bytes);
  base::invariant("I5", record::is_latest(tid) && !record::is_locked(tid));
  const std::string_view key = record_.key;
  bytes_ = static_cast<std::uint32_t>(buffer_bytes(key.size(), value.size()));
  const std::uint64_t size_word = record::make_size_word(incarnation, value.size());
  const std::uint32_t sum = record::checksum_with_header(record::checksum_of_content(key, value), tid, size_word);
  std::memset(words_, 0, bytes_);  // padding
  words_[0] = tid;
  words_[1] = size_word;
  words_[2] = record::make_check_word(record::key_fingerprint(key), sum);
  words_[3] = 0;  // the owner's rts: nobody has read this version so far
  char* const key_at = reinterpret_cast<char*>(words_ + 4);
  if (!key.empty()) std::memcpy(key_at, key.data(), key.size());
  if (!value.empty()) std::memcpy(key_at + base::round_up_to_word(key.size()), value.data(), value.size());
}

}  // namespace granary::cluster
