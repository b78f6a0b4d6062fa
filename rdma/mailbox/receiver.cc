#include "rdma/mailbox/receiver.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "src/base/shared_words.h"

namespace granary::rdma::mailbox {

using base::kWord;

/// Reads the words of line 1, which only receivers write. The stores of the earlier receiver happen before this, since
/// it has ended. A sender adds to the session word at any time, so that word is not looked at here: poll() compares it
/// with the session that is served.
Receiver::Receiver(char* ring, std::uint64_t ring_bytes, std::uint64_t most_bytes)
    : session_word_(reinterpret_cast<std::uint64_t*>(ring + kSessionOffset)),
      consumed_word_(reinterpret_cast<std::uint64_t*>(ring + kConsumedOffset)),
      sleep_word_(reinterpret_cast<std::uint64_t*>(ring + kSleepOffset)),
      data_(reinterpret_cast<std::uint64_t*>(ring + kDataOffset)),
      capacity_(ring_capacity(ring_bytes)),
      most_bytes_(most_bytes),
      consumed_(Consumed::unpack(base::load_word(consumed_word_))),
      sleep_(Sleep::unpack(base::load_word(sleep_word_))) {
  auto* const receivers_word = reinterpret_cast<std::uint64_t*>(ring + kReceiversOffset);
  earlier_ = base::load_word(receivers_word);
  base::store_word(receivers_word, earlier_ + 1);
}

std::optional<std::string_view> Receiver::poll() {
  if (std::exchange(handed_out_, false)) message_.clear();
  if (wanted_session() != consumed_.session) serve_new_session();
  while (!whole_) {
    if (!status_.ok() || !take_fragment()) return {};
  }
  whole_ = false;
  handed_out_ = true;
  return message_;
}

std::uint16_t Receiver::wanted_session() const { return static_cast<std::uint16_t>(base::load_word(session_word_)); }

bool Receiver::has_something() const {
  if (wanted_session() != consumed_.session) return true;
  return whole_ || (status_.ok() && Seal::present(base::load_word(at(consumed_.position))));
}

/// Writes the word that the sender READs. It is set by an exchange, so that the looks after it see everything that was
/// there before it (ring.h).
void Receiver::lie_down(BellId bell) {
  const base::lines::Store seen(sleep_word_);
  sleep_ = {bell, sleep_.count + 1};
  std::atomic_ref<std::uint64_t>(*sleep_word_).exchange(sleep_.pack(), std::memory_order_seq_cst);
}

void Receiver::get_up() {
  ++sleep_.count;
  base::store_word(sleep_word_, sleep_.pack());
}

/// Clears the ring for a new session. The sender waits until it is served, and nothing of its earlier sessions arrives
/// any more.
void Receiver::serve_new_session() {
  for (std::uint64_t w = 0; w < capacity_ / kWord; ++w) base::store_word(data_ + w, 0);
  message_.clear();
  whole_ = false;
  status_ = {};
  inherited_ = false;
  consumed_ = {.session = wanted_session(), .position = 0};
  base::store_word(consumed_word_, consumed_.pack());
}

bool Receiver::take_fragment() {
  std::uint64_t* const seal_word = at(consumed_.position);
  const std::uint64_t word = base::load_word(seal_word);
  if (!Seal::present(word)) return false;
  const Seal seal = Seal::unpack(word);
  if (!check(seal)) return false;
  const std::size_t before = message_.size();
  message_.resize(before + seal.bytes);
  base::copy_from_shared(message_.data() + before, seal_word + 1, seal.bytes);
  const std::uint64_t room = kWord + base::round_up_to_word(seal.bytes);
  for (std::uint64_t w = 0; w < room / kWord; ++w) base::store_word(seal_word + w, 0);
  consumed_.position = (consumed_.position + room) % position_period(capacity_);
  base::store_word(consumed_word_, consumed_.pack());
  whole_ = seal.last && !inherited_;
  if (inherited_) message_.clear();
  return true;
}

bool Receiver::check(const Seal& seal) {
  const std::uint64_t to_end = capacity_ - consumed_.position % capacity_;
  if (seal.session != consumed_.session) {
    status_ = Status(StatusCode::kFailedPrecondition,
                     fmt::format("a message of session {} arrived in session {}", seal.session, consumed_.session));
  } else if (kWord + base::round_up_to_word(seal.bytes) > to_end) {
    status_ = Status(StatusCode::kInvalidArgument,
                     fmt::format("a fragment of {} bytes runs over the end of its mailbox", seal.bytes));
  } else if (message_.size() + seal.bytes > most_bytes_) {
    status_ = Status(StatusCode::kInvalidArgument,
                     fmt::format("a message is longer than the {} bytes that its mailbox takes", most_bytes_));
  }
  return status_.ok();
}

}  // namespace granary::rdma::mailbox
