#include "rdma/mailbox/sender.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::mailbox {

using base::kWord;

namespace {

/// Returns the address of the word that has the byte.
RemoteAddress word_of(RemoteAddress byte) {
  byte.offset -= byte.offset % kWord;
  return byte;
}

}  // namespace

Sender::Sender(Endpoint& endpoint, ConnectionId connection, const SenderPlace& place)
    : endpoint_(endpoint),
      connection_(connection),
      place_(place),
      capacity_(ring_capacity(place.ring_bytes)),
      answer_(reinterpret_cast<std::uint64_t*>(place.staging)),
      signs_(reinterpret_cast<std::uint8_t*>(place.staging + kSignsOffset)),
      mirror_(place.staging + kDataOffset) {
  step();
}

SendResult Sender::send(std::string_view head, std::string_view body) {
  if (state_ == State::kBroken) return SendResult::kBroken;
  if (head.size() + body.size() > place_.most_bytes) return SendResult::kTooLarge;
  if (!idle()) step();
  if (!idle()) return SendResult::kFull;
  message_.reserve(head.size() + body.size());  // if there is no memory, nothing has changed
  message_.assign(head).append(body);
  sent_ = 0;
  open_ = true;
  step();
  return state_ == State::kBroken ? SendResult::kBroken : SendResult::kTaken;
}

void Sender::step() {
  if (state_ != State::kBroken && !endpoint_.status(connection_).ok()) state_ = State::kBroken;
  if (state_ == State::kTakeSession) take_session();
  push();
  if (state_ == State::kAwaitService || (state_ == State::kOpen && (open_ || look_again_))) ask();
}

/// Posts the chain. An endpoint without memory for it counts as full: a later step posts it.
PostResult Sender::post(std::span<const Operation> chain, Signal signal) {
  PostResult result = PostResult::kFull;
  try {
    result = endpoint_.post(connection_, chain, signal, place_.tag);
  } catch (const std::bad_alloc&) {
  }
  if (result != PostResult::kPosted && result != PostResult::kFull) state_ = State::kBroken;
  return result;
}

void Sender::take_session() {
  std::array chain = {Operation::fetch_add(place_.ring.plus(kSessionOffset), 1, answer_), Operation()};
  if (place_.sign) chain[1] = Operation::read(answer_ + 1, word_of(*place_.sign), kWord);
  if (post(std::span(chain).first(place_.sign ? 2 : 1), Signal::kYes) == PostResult::kPosted)
    state_ = State::kTakingSession;
}

/// Begins with the session that has been taken. If its sign cannot be posted now, the receiver finds the session
/// without it.
void Sender::begin_session() {
  session_ = static_cast<std::uint16_t>(*answer_ + 1);
  state_ = State::kAwaitService;
  if (!place_.sign) return;
  sign_ = static_cast<std::uint8_t>(answer_[1] >> (8 * (place_.sign->offset % kWord)));
  const Operation sign = next_sign();
  if (post({&sign, 1}, Signal::kNo) == PostResult::kPosted) ++sign_;
}

/// Makes the WRITE of the next sign. Where post() does not copy its byte, the byte must not change before the WRITE has
/// happened. Of more than kSigns WRITEs under way, one may carry a later sign than its own. It is still a new one,
/// unless so many come between two looks.
Operation Sender::next_sign() const {
  const auto next = static_cast<std::uint8_t>(sign_ + 1);
  std::uint8_t* const byte = signs_ + next % kSigns;
  *byte = next;
  return Operation::write_byte(*place_.sign, byte);
}

void Sender::ask() {
  if (asking_) return;
  const Operation read = Operation::read(answer_, place_.ring.plus(kConsumedOffset), 2 * kWord);
  asking_ = post({&read, 1}, Signal::kYes) == PostResult::kPosted;
  if (asking_) look_again_ = false;
}

void Sender::completed(const Completion& completion) {
  if (completion.status == CompletionStatus::kBroken) {
    state_ = State::kBroken;
  } else if (state_ == State::kTakingSession) {
    begin_session();
  } else {
    asking_ = false;
    learn();
  }
  push();
  if (look_again_) ask();
}

/// Learns the receiver's words from a READ. The READ's completion also tells that all WRITEs before it have completed,
/// so their room in the mirror is free, too.
void Sender::learn() {
  const Consumed consumed = Consumed::unpack(answer_[0]);
  const Sleep sleep = Sleep::unpack(answer_[1]);
  const bool served = consumed.session == session_;
  if (served) {
    consumed_ = consumed.position;
    if (state_ == State::kAwaitService) state_ = State::kOpen;
  } else if (state_ == State::kOpen) {
    state_ = State::kBroken;  // the receiver serves another sender
  }
  if (sleep.asleep() && sleep.count != rung_ && (!served || consumed_ != written_)) wake_receiver(sleep);
}

void Sender::wake_receiver(Sleep sleep) {
  if (endpoint_.ring(connection_, sleep.bell) == PostResult::kPosted) {
    rung_ = sleep.count;
  } else {
    look_again_ = true;
  }
}

void Sender::push() {
  while (state_ == State::kOpen && open_ && push_fragment()) {
  }
}

std::uint64_t Sender::in_ring() const {
  return written_ >= consumed_ ? written_ - consumed_ : written_ + position_period(capacity_) - consumed_;
}

/// Puts as much of the message into the ring as has room before its end. Returns false if nothing can be put there now.
bool Sender::push_fragment() {
  const std::uint64_t at = written_ % capacity_;
  const std::uint64_t room = std::min(capacity_ - in_ring(), capacity_ - at);
  const std::uint64_t left = message_.size() - sent_;
  if (room < kWord || (room == kWord && left != 0 && room != capacity_ - at)) return false;
  const auto bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>({left, room - kWord, endpoint_.limits().operation_bytes & ~std::uint32_t{kWord - 1}}));
  const auto padded = static_cast<std::uint32_t>(base::round_up_to_word(bytes));
  const Seal seal{.session = session_, .last = bytes == left, .bytes = bytes};
  const std::uint64_t word = seal.pack();
  std::memcpy(mirror_ + at, &word, kWord);
  if (padded != 0) std::memset(mirror_ + at + padded, 0, kWord);
  std::memcpy(mirror_ + at + kWord, message_.data() + sent_, bytes);
  const RemoteAddress to = place_.ring.plus(kDataOffset + at);
  std::array chain = {Operation::write(to.plus(kWord), mirror_ + at + kWord, padded),
                      Operation::write(to, mirror_ + at, kWord), Operation()};
  if (place_.sign) chain[2] = next_sign();
  if (base::injected("sign-before-seal") && place_.sign) std::swap(chain[1], chain[2]);
  const auto whole = std::span(chain).first(place_.sign ? 3 : 2);
  if (post(whole.subspan(padded == 0 ? 1 : 0), Signal::kNo) != PostResult::kPosted) return false;
  ++sign_;
  sent_ += bytes;
  written_ = (written_ + kWord + padded) % position_period(capacity_);
  look_again_ = !asking_ || !base::injected("ring-by-earlier-look");
  open_ = !seal.last;
  return true;
}

}  // namespace granary::rdma::mailbox
