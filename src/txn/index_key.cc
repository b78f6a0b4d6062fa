#include "src/txn/index_key.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <granary/key.h>
#include <granary/limits.h>

namespace granary::txn {
namespace {

/// Returns the bytes of a part. Bytes beyond the end of the source are zeros.
std::string part_bytes(const IndexPart& part, std::string_view source) {
  std::string bytes(part.length, '\0');
  if (part.offset < source.size()) {
    const std::size_t count = std::min<std::size_t>(part.length, source.size() - part.offset);
    std::memcpy(bytes.data(), source.data() + part.offset, count);
  }
  return bytes;
}

void append_part(const IndexPart& part, std::string_view source, std::string& out) {
  std::string bytes = part_bytes(part, source);
  switch (part.encoding) {
    case IndexEncoding::kBytes: out += bytes; return;
    case IndexEncoding::kUnsigned:
    case IndexEncoding::kSigned:
      std::reverse(bytes.begin(), bytes.end());  // little endian in the struct, big endian in the key
      if (part.encoding == IndexEncoding::kSigned) bytes[0] = static_cast<char>(bytes[0] ^ '\x80');
      out += bytes;
      return;
    case IndexEncoding::kText: out += EncodedKey<std::string>(bytes.substr(0, bytes.find('\0'))).view(); return;
  }
}

/// Returns the bytes that a part takes at the beginning of `from`; nullopt if they are not all there. A text ends with
/// its first 0x00, which a 0x00 follows, since it has no 0x00 of its own.
std::optional<std::size_t> bytes_of_part(const IndexPart& part, std::string_view from) {
  if (part.encoding != IndexEncoding::kText)
    return from.size() < part.length ? std::nullopt : std::optional<std::size_t>(part.length);
  const std::size_t end = from.find('\0');
  if (end == std::string_view::npos || end > part.length || from.substr(end, 2) != std::string_view("\0\0", 2))
    return std::nullopt;
  return end + 2;
}

/// Returns the most bytes that a part takes. A text has no 0x00 that would have to be escaped.
std::size_t most_bytes_of(const IndexPart& part) {
  return std::size_t{part.length} + (part.encoding == IndexEncoding::kText ? 2 : 0);
}

/// Returns the number of an enumerator, for a message about one that has no name.
template <typename Enum>
std::string number_of(Enum value) {
  return std::to_string(static_cast<unsigned>(value));
}

bool is_integer_width(std::uint32_t length) { return length == 1 || length == 2 || length == 4 || length == 8; }

}  // namespace

void append_index_key(const IndexOptions& options, std::string_view key, std::string_view value, std::string& out) {
  for (const IndexPart& part : options.parts) {
    append_part(part, part.source == IndexPart::Source::kKey ? key : value, out);
  }
  // All parts before it have a fixed length or show where they end, so the primary key needs no delimiter.
  if (!options.unique) out += key;
}

std::optional<std::size_t> index_key_bytes(const IndexOptions& options, std::string_view bytes) {
  std::size_t all = 0;
  for (const IndexPart& part : options.parts) {
    const std::optional<std::size_t> more = bytes_of_part(part, bytes.substr(all));
    if (!more) return std::nullopt;
    all += *more;
  }
  return all;
}

std::string index_options_error(const IndexOptions& options) {
  if (options.parts.empty()) return "an index needs at least one part";
  std::size_t total = 0;
  for (const IndexPart& part : options.parts) {
    if (part.source > IndexPart::Source::kValue)
      return "IndexPart::source is " + number_of(part.source) + "; expected kKey or kValue";
    if (part.encoding > IndexEncoding::kText)
      return "IndexPart::encoding is " + number_of(part.encoding) + "; expected kBytes, kUnsigned, kSigned or kText";
    if (part.length == 0) return "an index part has length 0";
    const bool integer = part.encoding == IndexEncoding::kUnsigned || part.encoding == IndexEncoding::kSigned;
    if (integer && !is_integer_width(part.length)) {
      return "an integer index part has length " + std::to_string(part.length) + "; expected 1, 2, 4 or 8";
    }
    total += most_bytes_of(part);
  }
  if (total > kMaxSecondaryKeyBytes) {
    return "the index parts take up to " + std::to_string(total) + " bytes; expected at most " +
           std::to_string(kMaxSecondaryKeyBytes) + ", half of the largest key";
  }
  return {};
}

}  // namespace granary::txn
