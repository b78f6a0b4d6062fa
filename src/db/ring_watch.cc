#include "src/db/ring_watch.h"

#include <fmt/format.h>

#include <string>

#include "src/base/notice.h"

namespace granary::db {

void RingWatch::look(const log::Log& log) {
  if (told_ || ++ticks_ % ticks_a_look_ != 0) return;
  const std::string gone = log.missing_ring();
  if (gone.empty()) return;
  base::tell(sink_, {.severity = NoticeSeverity::kError,
                     .topic = NoticeTopic::kLogRings,
                     .text = fmt::format("the log ring '{}' was removed while the database is open: if this process "
                                         "dies, transactions that are not durable yet are lost; close it in order, and "
                                         "open it again",
                                         gone)});
  told_ = true;
}

}  // namespace granary::db
