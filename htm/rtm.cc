#include "htm/rtm.h"

#include <cpuid.h>

#include "htm/program_pages.h"

namespace granary::htm {
namespace {

constexpr unsigned kFeatures = 7;
constexpr unsigned kRtm = 1u << 11;             // in EBX
constexpr unsigned kRtmAlwaysAbort = 1u << 11;  // in EDX

bool offered() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (ebx & kRtm) != 0 && (edx & kRtmAlwaysAbort) == 0;
}

/// Whether a region commits. It may always abort without a reason, but not so many times in a row. It aborts each time
/// if a page with its code was not touched lately.
bool probe() {
  constexpr int kTries = 100;
  std::uint64_t word = 0;
  const auto body = [&word](auto& memory) {
    memory.store(&word, 1);
    return Verdict::done();
  };
  for (int i = 0; i < kTries; ++i) {
    if (attempt_rtm(body).committed) return word == 1;
    if (i == kTries / 2) touch_program();
  }
  return false;
}

}  // namespace

bool rtm_works() { return offered() && probe(); }

Attempt rtm_abort(std::uint32_t status) {
  if ((status & _XABORT_EXPLICIT) != 0) {
    return {.cause = Cause::kExplicit, .verdict = Verdict::from_bits(static_cast<std::uint8_t>(_XABORT_CODE(status)))};
  }
  if ((status & _XABORT_CAPACITY) != 0) return {.cause = Cause::kCapacity};
  if ((status & _XABORT_CONFLICT) != 0) return {.cause = Cause::kConflict};
  return {.cause = Cause::kOther};
}

[[gnu::target("rtm"), gnu::noinline]] Attempt begin_rtm() {
  const std::uint32_t status = _xbegin();
  return status == _XBEGIN_STARTED ? Attempt{.committed = true} : rtm_abort(status);
}

[[gnu::target("rtm"), gnu::noinline]] void end_rtm() { _xend(); }

[[gnu::target("rtm"), gnu::noinline]] void abort_rtm(Verdict verdict) {
  rtm_abort_with(verdict.bits(), std::make_index_sequence<2 * Verdict::kAborts>());
}

}  // namespace granary::htm
