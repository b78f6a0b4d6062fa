// A frugal replay of keys in an order that leaves the index half empty: full leaves that each get one key more. It fits
// into the memory that the keys took when they came in order.

#include <string>
#include <vector>

#include <granary/key.h>
#include <gtest/gtest.h>

#include "recovery/replay.h"
#include "tests/recovery/replay_rig.h"
#include "tests/recovery/segment_builder.h"

namespace granary::recovery {
namespace {

using tests::ReplayRig;
using tests::SegmentBuilder;
using tests::StoredLog;
using tests::TestWrite;

constexpr std::uint64_t kLeafWidth = 15, kLeaves = 1500;

/// A log of keys, 100 of them a transaction and epoch.
class KeyLog {
 public:
  void add(std::uint64_t number) {
    writes_.push_back({0, std::string(encode_key(number).view()), std::string(40, 'v')});
    ++keys_;
    if (writes_.size() == 100) flush();
  }
  std::uint64_t keys() const { return keys_; }
  StoredLog stored() {
    flush();
    StoredLog log;
    log.put_segment(0, segment_.marker(epoch_, 0));
    return log;
  }

 private:
  void flush() {
    if (writes_.empty()) return;
    segment_.transaction(epoch_++, 1, std::exchange(writes_, {}));
  }

  SegmentBuilder segment_{{1, 0, 0}};
  std::vector<TestWrite> writes_;
  std::uint64_t keys_ = 0, epoch_ = 1;
};

TEST(FrugalReplay, KeepsIndexesPacked) {
  KeyLog keys;
  for (std::uint64_t i = 0; i < kLeaves * kLeafWidth; ++i) keys.add(2 * i);
  for (std::uint64_t leaf = 0; leaf < kLeaves; ++leaf) keys.add(2 * leaf * kLeafWidth + kLeafWidth);
  StoredLog log = keys.stored();
  // Records of 64 bytes and full leaves of 320 take 2.2 MB; with half of the leaves' places empty, 2.6 MB.
  ReplayRig rig(1, 1, std::uint64_t{2432} << 10);
  const auto replayed = rig.replay(log.disk, log.scan(), {}, {.frugal = true});
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(replayed->missing_bytes, 0u);
  EXPECT_EQ(rig.contents(0).size(), keys.keys());
  EXPECT_LT(rig.table(0).tree().statistics().leaves, keys.keys() / kLeafWidth * 5 / 4);
}

}  // namespace
}  // namespace granary::recovery
