#include "src/cc/holder_requests.h"

#include "src/cc/garbage.h"
#include "src/record/shared_record.h"

namespace granary::cc {
namespace {

using record::SharedRecord;

SharedRecord* find(Index& index, std::string_view key) {
  auto* const record = record::record_of(index.find(key).value);
  return record != nullptr && record::is_shared(record) ? &record::shared_of(*record) : nullptr;
}

}  // namespace

void note_removed(WorkerState& worker, Index& index, std::string_view key, TidWord tid) {
  if (!record::is_absent(tid)) return;  // the message names a version that is no removal
  SharedRecord* const record = find(index, key);
  if (record == nullptr || record::unlocked(record->head.tid()) != tid) return;
  register_absent(worker, record::epoch_of(tid), &record->head, &index, tid, key);
}

}  // namespace granary::cc
