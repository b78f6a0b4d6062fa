#pragma once
// The version that tests make a record with, and the one they change it to.

#include <string>

#include "src/record/tid.h"

namespace granary::cluster {

inline constexpr record::TidWord kTid = record::make_tid(3, 5) | record::kLatest;
inline constexpr record::TidWord kNewTid = record::make_tid(3, 6) | record::kLatest;
inline const std::string kValue(150, 'v');
inline const std::string kNewValue(90, 'n');

}  // namespace granary::cluster
