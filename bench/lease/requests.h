#pragma once
// Draws the records of the next request: some are only read, the others incremented.

#include <array>
#include <span>

#include "bench/lease/parameters.h"
#include "src/base/random.h"

namespace granary::bench::lease {

enum class RecordKey : std::uint64_t {};

/// A record and the partition where it is.
struct Place {
  RecordKey key;
  std::uint32_t partition;
};

struct RecordRequest {
  static constexpr std::uint8_t type = 0;   // there is one type
  std::array<Place, kMostRecords> records;  // the first `count` are set, and all differ
  std::uint32_t count = 0;
  std::uint32_t only_read = 0;  // how many of the first ones are only read; a hot one is among them
  std::span<const Place> all() const { return {records.data(), count}; }
};

class RequestSource {
 public:
  RequestSource(const Parameters& parameters, std::uint32_t worker);

  RecordRequest next();

 private:
  Place hot_record();
  Place any_record();

  const Parameters parameters_;
  const KeyRanges ranges_;
  const std::uint32_t home_;
  base::Random random_;
};

}  // namespace granary::bench::lease
