#include "src/cluster/record_access/release.h"

#include <cstring>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using base::injected;
using rdma::Operation;
using rdma::fiber::Next;

Release::Release(const RemoteRecord& record, record::StateWord mine, void* buffer)
    : AccessStep(record.at),
      record_(record),
      mine_(mine),
      words_(static_cast<std::uint64_t*>(buffer)) {
  base::invariant("I5", record::is_x_locked(mine));
  words_[0] = record::kFree;
}

void Release::set_version(record::TidWord tid, std::uint64_t incarnation, std::string_view value) {
  base::invariant("I3", value.size() <= record_.max_value_bytes);
  base::invariant("I5", record::is_latest(tid) && !record::is_locked(tid));
  const std::string_view key = record_.key;
  version_bytes_ = static_cast<std::uint32_t>(record::shared_record_bytes(key.size(), value.size()) - kSkipped);
  std::uint64_t* const words = words_ + kVersion;
  const std::uint64_t size_word = record::make_size_word(incarnation, value.size());
  const std::uint32_t sum = record::checksum_with_header(record::checksum_of_content(key, value), tid, size_word);
  std::memset(words, 0, version_bytes_);  // padding
  words[0] = tid;
  words[1] = size_word;
  words[2] = record::make_check_word(record::key_fingerprint(key), sum);
  char* const key_at = reinterpret_cast<char*>(words + 3);
  if (!key.empty()) std::memcpy(key_at, key.data(), key.size());
  if (!value.empty()) std::memcpy(key_at + base::round_up_to_word(key.size()), value.data(), value.size());
}

void Release::append(std::vector<Operation>& chain) {
  if (phase_ == Phase::kFindOut) {
    chain.push_back(Operation::read(words_ + 1, record_.at, base::kWord));
    return;
  }
  const Operation free = Operation::write(record_.at, words_, base::kWord);
  const bool free_first = injected("unlock-before-write-back");
  if (free_first) chain.push_back(free);
  // Not fenced: the READs that took the lock have completed, and no other operation minds.
  if (version_bytes_ != 0)
    chain.push_back(Operation::write(record_.at.plus(kSkipped), words_ + kVersion, version_bytes_));
  if (!free_first) chain.push_back(free);
  // What frees the record is the last that is posted.
  base::debug_invariant("I5", [&] { return chain.back().remote == record_.at && chain.back().bytes == base::kWord; });
}

Next Release::settle() {
  if (phase_ == Phase::kFindOut && (words_[1] == mine_ || injected("resume-unseen"))) {
    phase_ = Phase::kWrite;
    return Next::kAtOnce;
  }
  return end(Outcome::kDone);
}

void Release::resume() {
  base::always_check(outcome() == Outcome::kBroken || outcome() == Outcome::kOpen, "what has ended is not resumed");
  begin();
  phase_ = Phase::kFindOut;
}

}  // namespace granary::cluster
