#include "src/cli/doctor/greeting.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "src/base/build_info.h"
#include "src/node/cluster_protocol.h"

namespace granary::doctor {
namespace {

constexpr std::string_view kName = "granary-doctor ";

/// Takes a number and the space that follows off the front of the text.
template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length == text.size() || text[length] != ' ') return false;
  text.remove_prefix(length + 1);
  return true;
}

}  // namespace

Greeting own_greeting() { return {.cluster_protocol = db::cluster_protocol(), .release = base::version_text()}; }

std::string line_of(const Greeting& greeting) {
  std::string line =
      fmt::format("{}{} {} {}", kName, greeting.doctor_protocol, greeting.cluster_protocol, greeting.release);
  line.resize(std::min(line.size(), kLongestGreeting - 1));
  return line + "\n";
}

std::optional<Greeting> greeting_of(std::string_view line) {
  if (!line.starts_with(kName)) return std::nullopt;
  line.remove_prefix(kName.size());
  Greeting greeting;
  if (!take_number(line, greeting.doctor_protocol) || !take_number(line, greeting.cluster_protocol))
    return std::nullopt;
  for (const char c : line) {
    if (c < ' ' || c > '~') return std::nullopt;
  }
  greeting.release = line;
  return greeting;
}

std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace granary::doctor
