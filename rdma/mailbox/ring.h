#pragma once
// Lays out a mailbox: a ring in the receiver's registered memory. One sender fills it by one-sided WRITEs, and the
// receiver empties it by looking. It is the same on all providers.
//
//   line 0          session: the sender takes the next number by fetch-add
//   line 1          consumed: the session that the receiver serves, and how far it has read; then whether it sleeps,
//                   and at which bell; then how many receivers there have been; the receiver's words
//   from line 2 on  fragments, one after the other round the ring; all zero but for what is not consumed
//
// A fragment is a seal word and then a piece of a message. The sender WRITEs the piece, then the seal, on one
// connection. WRITE then WRITE is in order, so a receiver that sees a seal sees all of its piece, however the bytes of
// a WRITE land. The receiver copies the piece out, clears the fragment, and only then tells by `consumed` that the room
// may be used again. So old bytes are never taken for a seal. The sender READs `consumed` when it runs out of room
// (back-pressure).
//
// A receiver that is about to sleep says so in its second word, looks for the last time, and sleeps. The sender READs
// both words after the seals that it has written, and rings if something is not consumed and the receiver sleeps. No
// message is slept over: if the READ, which comes after the seal, did not see the word, then the word was set after the
// seal was there, and the last look, which comes after the word, sees the seal. (On the receiver's side, an atomic
// exchange lets no later load pass; on the sender's side, WRITE then READ is in order.) A sender rings once for each
// sleep.
//
// A receiver of many rings looks at signs instead. The sign of a ring is one byte in the receiver's registered memory,
// beside those of other rings, so a cache line has 64 of them. Behind each seal, and behind each session that it takes,
// the ring's sender WRITEs the next number there, modulo 256. Whoever sees the new sign sees the seal, as both are
// WRITEs of one connection. Only this sender writes the byte, and nobody clears it, so no atomic operation is needed
// (I2). A later sender goes on from the byte that it READs when it takes its session. A sign is a hint: it may be
// missed, as when 256 of them, or as many as a sender stages (Sender::next_sign), come between two looks, or come while
// nobody looks. So a receiver also looks at its rings one by one, though seldom (src/cluster/messages/service.cc).
//
// A sender that connects (again) takes a new session and waits until the receiver serves it. The receiver clears the
// ring then. Anything that an earlier session, or an earlier life of the sender's node, left there is dropped, and
// nothing of it arrives later (rdma/fabric.h, breakage).
//
// A ring may get another receiver after the previous one has ended. The later receiver goes on where the earlier one
// stopped, as line 1 tells. But it drops all messages of the session that it goes on with, because they were meant for
// the earlier receiver, which may have taken a part of one. A sender that has taken a session sees no difference, and
// is not held up. The later receiver also serves sessions that were not served yet, whichever receiver their messages
// are meant for: a sender takes a session at any time, also before the first receiver is there. Users who have to tell
// such messages from their own give them numbers that depend on Receiver::earlier().

#include <bit>
#include <cstdint>

#include "rdma/fabric.h"

namespace granary::rdma::mailbox {

inline constexpr std::uint64_t kSessionOffset = 0;
inline constexpr std::uint64_t kConsumedOffset = 64;
inline constexpr std::uint64_t kSleepOffset = kConsumedOffset + 8;
inline constexpr std::uint64_t kReceiversOffset = kSleepOffset + 8;
inline constexpr std::uint64_t kDataOffset = 128;
/// In the sender's staging memory, which is laid out as the ring: where it makes signs, and how many.
inline constexpr std::uint64_t kSignsOffset = 64;
inline constexpr std::uint64_t kSigns = kDataOffset - kSignsOffset;

/// Returns the room for fragments in a ring that takes so many bytes of memory. It is a multiple of 64, and must be at
/// least 64.
constexpr std::uint64_t ring_capacity(std::uint64_t bytes) { return (bytes - kDataOffset) & ~std::uint64_t{63}; }

/// Returns the period of positions. Positions in a session count the bytes before them, modulo so many rings. Two rings
/// would do, as sender and receiver are never further apart than one.
constexpr std::uint64_t position_period(std::uint64_t capacity) { return 16 * capacity; }

/// The word `consumed`: | session 16 | position up to which all is consumed 48 |.
struct Consumed {
  std::uint16_t session = 0;
  std::uint64_t position = 0;

  static constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << 48) - 1;
  constexpr std::uint64_t pack() const { return std::uint64_t{session} << 48 | position; }
  static constexpr Consumed unpack(std::uint64_t word) {
    return {static_cast<std::uint16_t>(word >> 48), word & kPositionMask};
  }
};
static_assert(Consumed::unpack(Consumed{7, 99}.pack()).session == 7 &&
              Consumed::unpack(Consumed{7, 99}.pack()).position == 99);

/// The sleep word: | bell 32 | times that the receiver lay down or got up 32 |. The count is odd while the receiver
/// sleeps.
struct Sleep {
  BellId bell = 0;
  std::uint32_t count = 0;

  constexpr bool asleep() const { return (count & 1) != 0; }
  constexpr std::uint64_t pack() const { return std::uint64_t{bell} << 32 | count; }
  static constexpr Sleep unpack(std::uint64_t word) {
    return {static_cast<BellId>(word >> 32), static_cast<std::uint32_t>(word)};
  }
};
static_assert(Sleep::unpack(Sleep{7, 99}.pack()).bell == 7 && Sleep::unpack(Sleep{7, 99}.pack()).count == 99);

/// A seal: | session 16 | unused 14 | last 1 | present 1 | piece's bytes 32 |.
struct Seal {
  std::uint16_t session = 0;
  bool last = false;  ///< whether it is the last of its message
  std::uint32_t bytes = 0;

  static constexpr std::uint64_t kPresent = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kLast = std::uint64_t{1} << 33;
  constexpr std::uint64_t pack() const { return std::uint64_t{session} << 48 | (last ? kLast : 0) | kPresent | bytes; }
  static constexpr bool present(std::uint64_t word) { return (word & kPresent) != 0; }
  static constexpr Seal unpack(std::uint64_t word) {
    return {static_cast<std::uint16_t>(word >> 48), (word & kLast) != 0, static_cast<std::uint32_t>(word)};
  }
  bool operator==(const Seal&) const = default;
};
static_assert(Seal::unpack(Seal{9, true, 77}.pack()) == Seal{9, true, 77} && Seal::present(Seal{}.pack()));

}  // namespace granary::rdma::mailbox
