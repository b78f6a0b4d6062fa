#include "recovery/checked_text.h"

#include <fmt/format.h>

#include "src/base/crc32c.h"

namespace granary::recovery {
namespace {

constexpr std::string_view kChecksumWord = "crc32c ";
constexpr std::size_t kChecksumLine = kChecksumWord.size() + 8 + 1;

bool stands_for_itself(char c) { return c >= ' ' && c <= '~' && c != '%'; }

/// Returns the value of an upper-case hexadecimal digit, or -1 for any other character.
int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

std::string checksum_line(std::string_view text) {
  return fmt::format("{}{:08x}\n", kChecksumWord, base::crc32c(0, text.data(), text.size()));
}

}  // namespace

std::string escape(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (stands_for_itself(c)) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (stands_for_itself(text[i])) {
      bytes += text[i];
      continue;
    }
    if (text[i] != '%' || text.size() - i < 3) return std::nullopt;
    const int high = digit_of(text[i + 1]);
    const int low = digit_of(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

std::optional<log::DatabaseId> id_of(std::string_view text) {
  log::DatabaseId id{};
  for (std::size_t i = 0; i < id.size() && text.size() == 2 * id.size(); ++i) {
    const auto digit = [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : 0; };
    id[i] = static_cast<unsigned char>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  }
  return log::to_text(id) == text ? std::optional(id) : std::nullopt;
}

std::string with_checksum(std::string text) {
  text += checksum_line(text);
  return text;
}

CheckedText check_text(std::string_view text) {
  if (text.size() < kChecksumLine || text.substr(text.size() - kChecksumLine, kChecksumWord.size()) != kChecksumWord)
    return {{}, fmt::format("its {} bytes do not end with a checksum line", text.size())};
  const std::string_view body = text.substr(0, text.size() - kChecksumLine);
  const std::string_view found = text.substr(body.size());
  const std::string computed = checksum_line(body);
  if (found == computed) return {body, {}};
  return {{},
          fmt::format("its checksum line says '{}', its content has {}", escape(found.substr(kChecksumWord.size(), 8)),
                      computed.substr(kChecksumWord.size(), 8))};
}

}  // namespace granary::recovery
