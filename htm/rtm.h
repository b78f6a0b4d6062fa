#pragma once
// Runs regions on Intel TSX (Restricted Transactional Memory).
//
// This is always compiled, without compiler flags: only the function that begins a region has another target. It may
// run only where rtm_works() is true. XBEGIN is an illegal instruction elsewhere, firmware may have switched it off
// without a change of CPUID, and XTEST (never used here) faults even under some emulators that know XBEGIN.

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "htm/attempt.h"
#include "src/base/region_mark.h"
#include "src/base/shared_words.h"

namespace granary::htm {

/// Whether CPUID offers RTM and does not say that it always aborts, and a probe has committed a region.
bool rtm_works();

/// Translates the status that XBEGIN returns after an abort.
Attempt rtm_abort(std::uint32_t status);

/// Has a body's accesses. They are plain moves, as the hardware tracks them.
class RtmMemory {
 public:
  std::uint64_t load(const std::uint64_t* word) const {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
  }
  std::uint64_t load(const std::atomic<std::uint64_t>& word) const { return word.load(std::memory_order_relaxed); }
  /// Copies `bytes` of shared words to private memory.
  void copy(void* to, const std::uint64_t* from, std::size_t bytes) const { base::copy_from_shared(to, from, bytes); }
  void store(std::uint64_t* word, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_relaxed);
  }
  void store(std::atomic<std::uint64_t>& word, std::uint64_t value) { word.store(value, std::memory_order_relaxed); }
};

/// Executes XABORT. Its operand is a part of the instruction, so there is one instruction for each verdict.
template <std::size_t... Bits>
[[gnu::target("rtm"), gnu::always_inline]] inline void rtm_abort_with(std::uint8_t bits, std::index_sequence<Bits...>) {
  ((bits == Bits ? _xabort(Bits) : void()), ...);
}

/// Makes one attempt. It is not inlined, because its caller is compiled for every processor.
template <typename Body>
[[gnu::target("rtm"), gnu::noinline]] Attempt attempt_rtm(Body& body) {
  const std::uint32_t status = _xbegin();
  if (status != _XBEGIN_STARTED) return rtm_abort(status);
  {
    const base::RegionMark inside;
    RtmMemory memory;
    const Verdict verdict = body(memory);
    if (!verdict.is_done()) rtm_abort_with(verdict.bits(), std::make_index_sequence<2 * Verdict::kAborts>());
  }
  _xend();
  return {.committed = true};
}

// --- a region that stays open when the function that has begun it returns ---
//
// This is sound: an abort puts back all memory, also the stack of the functions that have returned since, and all
// registers. So the thread is in begin_rtm() once more, as it was, and returns from there a second time.

/// Begins a region. If the result is `committed`, the thread is in the region now. Otherwise, perhaps long after the
/// begin, the region has aborted and had no effect.
Attempt begin_rtm();
/// Commits the region.
void end_rtm();
/// Aborts the region: the thread goes on where it was begun. The verdict must not be done().
void abort_rtm(Verdict verdict);

}  // namespace granary::htm
