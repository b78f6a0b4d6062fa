#pragma once
// Has the conventions of a database's small text files: byte strings that stay readable, ids, and a last line with the
// checksum of all before it.
//
//   ...
//   crc32c 0123abcd

#include <optional>
#include <string>
#include <string_view>

#include "src/log/format.h"

namespace granary::recovery {

/// Returns the bytes as text: printable ASCII characters except '%' as they are, all others as %XX.
std::string escape(std::string_view bytes);
/// Returns the bytes that escape() has written as `text`; none if it writes no such text.
std::optional<std::string> unescape(std::string_view text);

/// Returns the id with these 32 hexadecimal digits; none for any other text.
std::optional<log::DatabaseId> id_of(std::string_view text);

/// Returns the text with its checksum line.
std::string with_checksum(std::string text);

struct CheckedText {
  std::string_view body;  ///< the text without its checksum line
  std::string error;      ///< says what is wrong with the checksum line; else empty
};
CheckedText check_text(std::string_view text);

}  // namespace granary::recovery
