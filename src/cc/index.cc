#include "src/cc/index.h"

#include "src/record/shared_record.h"

namespace granary::cc {

std::uint64_t Index::incarnation_at(Value value) {
  const auto* const record = record::record_of(value);
  return record::is_shared(record) ? record::incarnation_of(base::load_word(&record->size_word)) : 0;
}

}  // namespace granary::cc
