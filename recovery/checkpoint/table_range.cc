#include "recovery/checkpoint/table_range.h"

namespace granary::recovery::checkpoint {
namespace {

/// A range of so few buckets is done sooner than shared.
constexpr std::uint64_t kLeastBuckets = 64;

std::optional<BucketRange> split(BucketRange* range) {
  if (range->to - range->from < 2 * kLeastBuckets) return std::nullopt;
  const std::uint64_t middle = range->from + (range->to - range->from) / 2;
  BucketRange upper{.from = middle, .to = range->to, .keys = {}};
  range->to = middle;
  return upper;
}

}  // namespace

std::optional<TableRange> whole_range(cc::Index& index) {
  if (index.ordered()) return whole_range(index.tree());
  return BucketRange{.from = 0, .to = index.hash().buckets(), .keys = {}};
}

std::optional<TableRange> split(cc::Index& index, TableRange* range) {
  if (index.ordered()) return split(index.tree(), &std::get<KeyRange>(*range));
  return split(&std::get<BucketRange>(*range));
}

}  // namespace granary::recovery::checkpoint
