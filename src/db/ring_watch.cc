#include "src/db/ring_watch.h"

#include <fmt/format.h>

#include "src/base/notice.h"

namespace granary::db {

void RingWatch::watch(std::string directory) {
  const auto identity = base::identity(base::system_files(), directory);
  if (!identity.ok()) return;
  identity_ = *identity;
  directory_ = std::move(directory);
}

/// An error other than kNotFound, as too many open files, tells nothing about the directory.
void RingWatch::look() {
  if (directory_.empty() || ++ticks_ % ticks_a_look_ != 0) return;
  const auto now = base::identity(base::system_files(), directory_);
  const bool gone = now.ok() ? *now != identity_ : now.status().code() == StatusCode::kNotFound;
  if (!gone) return;
  base::tell(sink_,
             {.severity = NoticeSeverity::kError,
              .topic = NoticeTopic::kLogRings,
              .text = fmt::format("the log rings in '{}' were removed while the database is open: if this process "
                                  "dies, transactions that are not durable yet are lost; close it in order, and "
                                  "open it again",
                                  directory_)});
  directory_.clear();
}

}  // namespace granary::db
