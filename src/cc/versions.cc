#include "src/cc/versions.h"

#include "src/base/shared_words.h"
#include "src/record/shared_record.h"

namespace granary::cc {

Record* allocate_record(WorkerState& worker, std::size_t value_bytes, memory::Urgency urgency) {
  return static_cast<Record*>(
      worker.slabs.allocate(memory::SlabKind::kRecord, record::record_bytes(value_bytes), urgency));
}

bool copy_version(const Record& from, std::size_t key_bytes, TidWord old, Record& to, const WorkerState& worker) {
  const std::size_t bytes = from.size();
  if (record::record_bytes(bytes) > worker.shared.slabs.capacity(&to)) [[unlikely]]
    return false;
  base::store_word(&to.size_word, bytes);
  const std::uint64_t* const value = record::value_words(from, key_bytes);
  for (std::size_t i = 0; i < base::round_up_to_word(bytes) / base::kWord; ++i) {
    base::store_word(to.value_words() + i, base::load_word(value + i));
  }
  to.set_previous(from.previous());
  to.store_tid(record::superseded(old));
  return true;
}

}  // namespace granary::cc
