#pragma once
// Small text files of a database: byte strings that stay readable, ids, and a last line with the checksum of all before
// it.
//
//   ...
//   crc32c 0123abcd

#include <optional>
#include <string>
#include <string_view>

#include "src/log/format.h"

namespace granary::recovery {

/// The bytes as text: all but printable ASCII characters, and '%' itself, stand as %XX.
std::string escape(std::string_view bytes);
/// None if escape() does not write such a text.
std::optional<std::string> unescape(std::string_view text);

/// The id whose 32 hexadecimal digits these are; none for any other text.
std::optional<log::DatabaseId> id_of(std::string_view text);

/// The text with its checksum line.
std::string with_checksum(std::string text);

struct CheckedText {
  std::string_view body;  ///< the text without its checksum line
  std::string error;      ///< how the checksum line is wrong; else empty
};
CheckedText check_text(std::string_view text);

}  // namespace granary::recovery
