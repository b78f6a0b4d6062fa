#include "bench/tpcc/random.h"

#include <cstring>
#include <string>

namespace granary::bench::tpcc {

namespace {

constexpr std::string_view kSyllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                           "ESE", "ANTI",  "CALLY", "ATION", "EING"};
constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
static_assert(sizeof kLetters == 64 + 1, "six random bits choose a letter");

std::array<Text<16>, 1000> make_last_names() {
  std::array<Text<16>, 1000> names;
  for (std::size_t number = 0; number < names.size(); ++number) {
    std::string name;
    for (const std::size_t digit : {number / 100, number / 10 % 10, number % 10}) name += kSyllables[digit];
    names[number].assign(name);
  }
  return names;
}

/// Returns the letters that all texts share (Random). They are as many as the longest text has.
const Text<500>& shared_passage() {
  static const Text<500> passage = [] {
    Text<500> letters;
    Random random(0x70617373616765);
    random_letters(random, letters, sizeof letters.bytes, sizeof letters.bytes);
    return letters;
  }();
  return passage;
}

}  // namespace

NurandConstants draw_constants(Random& random) {
  NurandConstants c;
  c.load_last_name = static_cast<std::uint32_t>(random.below(256));
  c.customer = static_cast<std::uint32_t>(random.below(1024));
  c.item = static_cast<std::uint32_t>(random.below(8192));
  for (;;) {
    c.run_last_name = static_cast<std::uint32_t>(random.below(256));
    const std::uint32_t delta =
        c.run_last_name > c.load_last_name ? c.run_last_name - c.load_last_name : c.load_last_name - c.run_last_name;
    if (delta >= 65 && delta <= 119 && delta != 96 && delta != 112) return c;
  }
}

const Text<16>& last_name(std::uint32_t number) {
  static const std::array<Text<16>, 1000> names = make_last_names();
  return names[number];
}

void random_letters(Random& random, char* to, std::size_t room, std::size_t low, std::size_t high) {
  constexpr unsigned kBits = 6, kLettersADraw = 10;
  const std::size_t length = low + random.below(high - low + 1);
  const std::size_t fresh = random.random_letters_of(length);
  for (std::size_t at = 0; at < fresh;) {
    std::uint64_t bits = random.next();
    for (unsigned i = 0; i < kLettersADraw && at < fresh; ++i, bits >>= kBits)
      to[at++] = kLetters[bits & ((1u << kBits) - 1)];
  }
  if (fresh != length) std::memcpy(to + fresh, shared_passage().bytes, length - fresh);
  std::memset(to + length, 0, room - length);
}

void random_digits(Random& random, char* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<char>('0' + random.below(10));
}

void make_original(Random& random, char* text, std::size_t length) {
  constexpr std::string_view kOriginal = "ORIGINAL";
  std::memcpy(text + random.below(length - kOriginal.size() + 1), kOriginal.data(), kOriginal.size());
}

void random_address(Random& random, Address& address) {
  random_letters(random, address.street_1, 10, 20);
  random_letters(random, address.street_2, 10, 20);
  random_letters(random, address.city, 10, 20);
  random_letters(random, address.state, 2, 2);
  random_digits(random, address.zip.bytes, 4);
  std::memcpy(address.zip.bytes + 4, "11111", 5);
}

}  // namespace granary::bench::tpcc
