#include "src/cluster/messages/attendant.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::cluster::messages {

using base::kWord;

Attendant::Attendant(Door& door, const MailboxLayout& layout, char* mailboxes, std::uint32_t number,
                     std::function<std::uint64_t()> now_us)
    : door_(door),
      number_(number),
      nodes_(layout.nodes),
      now_us_(std::move(now_us)),
      attended_(reinterpret_cast<std::uint64_t*>(mailboxes + layout.attended_word(number))),
      signs_(reinterpret_cast<const std::uint64_t*>(mailboxes + layout.signs(number))),
      seen_((nodes_ + kWord - 1) / kWord) {
  came_from_.reserve(nodes_);
  for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] = base::load_word(signs_ + i);
}

Attendant::~Attendant() { base::store_word(attended_, 0); }

bool Attendant::wants_to_look() const { return base::load_word(attended_) == 0 || something_came(); }

/// The loads are acquire loads: who sees a sign sees the seal that was there before it.
bool Attendant::something_came() const {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (base::load_word(signs_ + i) != seen_[i]) return true;
  }
  return false;
}

void Attendant::look(Moment moment) {
  if (base::load_word(attended_) == 0) base::store_word(attended_, 1);
  if (something_came()) serve(moment);
}

/// What comes between a look and the store would wait for its sender's patience to end. The store is an exchange, which lets no later load
/// pass: a sender that READ the word before it has written its sign before that.
void Attendant::look_away() {
  if (base::load_word(attended_) == 0) return;
  if (!base::injected("sleep-attended")) {
    const base::lines::Store seen(attended_);
    std::atomic_ref<std::uint64_t>(*attended_).exchange(0, std::memory_order_seq_cst);
  }
  if (something_came()) serve(Moment::kWaiting);
}

void Attendant::serve(Moment moment) {
  Service* const service = door_.enter();
  if (service == nullptr) return;  // the signs stay unseen
  came_from_.clear();
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const std::uint64_t signs = base::load_word(signs_ + i);
    const std::uint64_t changed = std::exchange(seen_[i], signs) ^ signs;
    for (std::size_t place = i * kWord; place < std::min(nodes_, (i + 1) * kWord); ++place) {
      if ((changed >> 8 * (place % kWord) & 0xff) != 0) came_from_.push_back(place);
    }
  }
  door_.leave(service->serve(came_from_, number_, moment, now_us_()));
}

}  // namespace granary::cluster::messages
