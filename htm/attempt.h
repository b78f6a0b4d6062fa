#pragma once
// Describes how one attempt to run a region ended, on hardware or simulated, and the verdict of its body.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/counter.h"

namespace granary::htm {

/// The reasons why a region had no effect.
enum class Cause : std::uint8_t {
  kConflict,  ///< another thread touched a cache line that it used
  kCapacity,  ///< it used more lines than the hardware holds
  kExplicit,  ///< its body asked for it
  kOther,     ///< an interrupt, a fault, an instruction that is not allowed, or no reason at all
};
inline constexpr std::size_t kCauses = 4;
/// Returns a short lower-case name for tables and JSON.
std::string_view name(Cause cause);

/// The verdict that a body returns. Unless it is done(), none of the body's stores takes effect. The code is the
/// caller's, 0 to 7.
class [[nodiscard]] Verdict {
 public:
  static constexpr Verdict done() { return Verdict(0); }
  /// Returns the verdict that the region may succeed a moment later.
  static constexpr Verdict retry(std::uint8_t code) { return Verdict(kAborts | code); }
  /// Returns the verdict that it is of no use to try again.
  static constexpr Verdict give_up(std::uint8_t code) { return Verdict(kAborts | kFinal | code); }

  /// Returns the verdict as the immediate operand of XABORT, 5 bits; 0 if done.
  constexpr std::uint8_t bits() const { return bits_; }
  static constexpr Verdict from_bits(std::uint8_t bits) { return Verdict(bits); }
  constexpr bool is_done() const { return bits_ == 0; }
  constexpr bool is_final() const { return (bits_ & kFinal) != 0; }
  constexpr std::uint8_t code() const { return bits_ & kCodeMask; }

  static constexpr std::uint8_t kCodeMask = 7;
  static constexpr std::uint8_t kFinal = 8;
  static constexpr std::uint8_t kAborts = 16;

 private:
  constexpr explicit Verdict(std::uint8_t bits) : bits_(bits) {}
  std::uint8_t bits_;
};

struct [[nodiscard]] Attempt {
  bool committed = false;
  Cause cause = Cause::kOther;        ///< unless committed
  Verdict verdict = Verdict::done();  ///< if kExplicit: the body's verdict
};

/// Counts how a thread's regions ended. That thread writes them with plain relaxed stores, and statistics read them.
struct Counters {
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> fallbacks{0};  ///< how often the caller went on without a region
  std::array<std::atomic<std::uint64_t>, kCauses> aborts{};

  void count(const Attempt& tried) {
    base::bump(tried.committed ? commits : aborts[static_cast<std::size_t>(tried.cause)]);
  }
  void count_fallback() { base::bump(fallbacks); }
};

}  // namespace granary::htm
