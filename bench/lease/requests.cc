#include "bench/lease/requests.h"

#include <algorithm>

#include "bench/store/range_work.h"

namespace granary::bench::lease {

RequestSource::RequestSource(const Parameters& parameters, std::uint32_t worker)
    : parameters_(parameters),
      ranges_(parameters.ranges()),
      home_(store::home_partition(ranges_, parameters.share, worker)),
      random_(parameters.seed, std::uint64_t{0x6c65617365} << 24 | parameters.share.node << 12 | worker) {}

RecordRequest RequestSource::next() {
  RecordRequest request;
  request.only_read = parameters_.only_read;
  while (request.count < parameters_.records) {
    const Place place = parameters_.hot_keys != 0 && request.count == 0 ? hot_record() : any_record();
    const auto drawn = request.all();
    const bool again = std::any_of(drawn.begin(), drawn.end(), [&](const Place& p) { return p.key == place.key; });
    if (!again) request.records[request.count++] = place;
  }
  return request;
}

/// Returns a hot record. Hot are the first few of each partition.
Place RequestSource::hot_record() {
  const std::uint64_t number = random_.below(parameters_.hot_keys);
  const auto partition = static_cast<std::uint32_t>(number % ranges_.parts());
  return {RecordKey{ranges_[partition].from + number / ranges_.parts()}, partition};
}

Place RequestSource::any_record() {
  const std::uint32_t partition = store::home_or_other(ranges_, home_, parameters_.distributed, random_);
  const KeyRange range = ranges_[partition];
  return {RecordKey{range.from + random_.below(range.size())}, partition};
}

}  // namespace granary::bench::lease
