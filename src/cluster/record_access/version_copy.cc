#include "src/cluster/record_access/version_copy.h"

#include <cstring>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using rdma::Operation;

VersionCopy::VersionCopy(const RemoteRecord& record, const HeldVersion& version, const rdma::RemoteAddress& block,
                         std::uint64_t block_address, void* buffer)
    : AccessStep(record.at),
      previous_(record.at.plus(offsetof(record::SharedRecord, head) + offsetof(record::Record, previous_word))),
      block_(block),
      words_(static_cast<std::uint64_t*>(buffer)),
      bytes_(static_cast<std::uint32_t>(record::record_bytes(version.value.size()))) {
  base::invariant("I12", !record::is_locked(version.tid) && record::tid_of(version.tid) != 0 && block_address != 0);
  base::invariant("I3", version.value.size() <= record.max_value_bytes);
  words_[0] = block_address;
  words_[1] = base::injected("copy-forgets-older-versions") ? 0 : version.previous;
  words_[2] = record::superseded(version.tid);
  words_[3] = version.value.size();
  if (version.value.empty()) return;
  words_[bytes_ / base::kWord] = 0;  // padding
  std::memcpy(words_ + 4, version.value.data(), version.value.size());
}

void VersionCopy::append(std::vector<Operation>& chain) {
  const Operation link = Operation::write(previous_, words_, base::kWord);
  const bool link_first = base::injected("link-before-copy");
  if (link_first) chain.emplace_back() = link;
  chain.emplace_back() = Operation::write(block_, words_ + 1, bytes_);
  if (!link_first) chain.emplace_back() = link;
}

rdma::fiber::Next VersionCopy::interpret() {
  base::sync_point("version_copy.linked");
  return end(AccessOutcome::kDone);
}

}  // namespace granary::cluster
