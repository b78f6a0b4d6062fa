// Ends an engine: its threads, then its log. A lack of memory is an error like others, also in the destructor.

#include <new>
#include <string>

#include "src/base/notice.h"
#include "src/base/with_memory.h"
#include "src/db/engine.h"

namespace granary::db {

Engine::~Engine() {
  if (has_closed_.load(std::memory_order_relaxed)) return;  // the caller of close() knows how that ended
  const Status closed = close();
  if (closed.ok() || failure_told_.load(std::memory_order_relaxed)) return;
  Notice notice{.severity = NoticeSeverity::kWarning, .topic = NoticeTopic::kClosing, .text = {}};
  try {
    notice.text = "closing the database: " + closed.message();
  } catch (const std::bad_alloc&) {
    notice.text = base::no_memory().message();  // which needs none
  }
  base::tell(options_.notices, notice);
}

Status Engine::close() {
  if (!closed_.exchange(true, std::memory_order_relaxed)) {
    end_status_ = base::with_memory([this] { return end(); });
    has_closed_.store(true, std::memory_order_release);
  } else if (!has_closed_.load(std::memory_order_acquire)) {
    return {};  // another thread is about to close it, and is told how that ends
  }
  return base::with_memory([this] { return end_status_; });
}

Status Engine::end() {
  if (storage_ != nullptr)
    storage_->checkpoints().cancel();  // a large one takes minutes, as it leaves the cores to transactions
  // The epoch thread ends last: the other nodes' epochs stand still when this node does not tell how far it is.
  checkpoint_thread_.reset();
  touch_thread_.reset();
  epoch_thread_.reset();
  turned_us_.store(0, std::memory_order_relaxed);
  if (storage_ == nullptr || shared_.log == nullptr) return {};
  // Another thread's checkpoint() may be in a slot with an epoch before that of the last commit, and then E could not
  // move on.
  const auto no_checkpoint = storage_->checkpoints().hold_off();
  // No transaction is open, so the epoch of the last one can be completed now.
  if (epochs_.in_cluster()) {
    epochs_.end();
  } else {
    epochs_.tick();
  }
  return storage_->close();
}

}  // namespace granary::db
