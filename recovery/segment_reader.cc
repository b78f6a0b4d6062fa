#include "recovery/segment_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <span>

#include "recovery/manifest.h"
#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

using log::EntryKind;
using log::SegmentHeader;

/// Takes `prefix` and a decimal number off the beginning.
template <typename Number>
bool take(std::string_view* text, std::string_view prefix, Number* number) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (parsed.ec != std::errc()) return false;
  text->remove_prefix(static_cast<std::size_t>(parsed.ptr - text->data()));
  return true;
}

bool all_zeros(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

/// Whether the file has a part of the header, or nothing of it, and then zeros: it was set aside, and hardly written.
bool is_unfinished(std::string_view bytes, const SegmentHeader& expected) {
  const std::size_t written = bytes.find_last_not_of('\0') + 1;  // 0 if all bytes are zero
  return written < sizeof expected && std::memcmp(bytes.data(), &expected, written) == 0;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// Names the first member that differs, with both values. Returns an empty text if none does.
std::string difference(const SegmentHeader& found, const SegmentHeader& expected) {
  const auto numbers = [](std::string_view field, std::uint64_t is, std::uint64_t should) {
    return is == should ? std::string() : fmt::format("{} {}, expected {}", field, is, should);
  };
  if (found.magic != expected.magic)
    return fmt::format("first bytes {}, expected {}", hex({found.magic.data(), found.magic.size()}),
                       hex({expected.magic.data(), expected.magic.size()}));
  if (found.byte_order != expected.byte_order)
    return fmt::format("byte order {:#010x}, expected {:#010x}", found.byte_order, expected.byte_order);
  if (!log::is_segment_version(found.version))
    return fmt::format("format version {}, expected {} or {}, or {} or {} of former releases", found.version,
                       log::kFormatVersion, log::kClusterFormatVersion, log::kFormerVersion,
                       log::kFormerClusterVersion);
  if (found.crc != found.compute_crc())
    return fmt::format("a header with checksum {:08x}, expected {:08x}", found.crc, found.compute_crc());
  if (found.database != expected.database)
    return fmt::format("database {}, and the manifest is of database {}", to_text(found.database),
                       to_text(expected.database));
  if (std::string text = numbers("logger", found.logger, expected.logger); !text.empty()) return text;
  if (std::string text = numbers("generation", found.generation, expected.generation); !text.empty()) return text;
  if (std::string text = numbers("sequence", found.sequence, expected.sequence); !text.empty()) return text;
  return {};
}

/// Returns what stands in the header's place; a header of no version if there is too little.
SegmentHeader header_in(std::string_view bytes) {
  SegmentHeader found{.version = 0};
  if (bytes.size() >= sizeof found) std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

/// Returns the header with the version that the segment says it has, if that is known, and with its stamp if any stamp
/// fits.
SegmentHeader as_told_by(const SegmentHeader& found, SegmentHeader header) {
  if (log::is_segment_version(found.version)) header.version = found.version;
  if (header.stamp == 0 || base::injected("ignore-stamps")) header.stamp = found.stamp;
  header.seal();
  return header;
}

}  // namespace

std::optional<SegmentName> parse_segment_name(std::string_view name) {
  SegmentName parsed;
  std::string_view rest = name;
  if (!take(&rest, "log-g", &parsed.generation) || !take(&rest, "-l", &parsed.logger) ||
      !take(&rest, "-s", &parsed.sequence)) {
    return std::nullopt;
  }
  if (name != log::segment_name(parsed.generation, parsed.logger, parsed.sequence)) return std::nullopt;
  return parsed;
}

SegmentHeader expected_header(const log::DatabaseId& database, const SegmentName& name, log::Stamp stamp) {
  SegmentHeader header;
  header.database = database;
  header.stamp = stamp;
  header.logger = name.logger;
  header.generation = name.generation;
  header.sequence = name.sequence;
  header.seal();
  return header;
}

SegmentHeader expected_header(const Manifest& manifest, const SegmentName& name) {
  const auto generation = std::find_if(manifest.generations.begin(), manifest.generations.end(),
                                       [&](const Generation& each) { return each.number == name.generation; });
  return expected_header(manifest.database, name, generation == manifest.generations.end() ? 0 : generation->stamp);
}

Status FileBytes::load(base::File& file, const std::string& path, std::uint64_t offset, std::uint64_t bytes) {
  const auto size = file.size();
  if (!size.ok()) return size.status();
  bytes = std::min(bytes, *size - std::min(offset, *size));
  size_ = 0;
  if (bytes > room_) {
    room_ = 0;
    buffer_.reset(new (std::nothrow) char[bytes]);
    if (buffer_ == nullptr)
      return {StatusCode::kResourceExhausted, fmt::format("no memory for {} bytes of '{}'", bytes, path)};
    room_ = bytes;
  }
  const auto got = file.read_at(offset, {buffer_.get(), bytes});
  if (!got.ok()) return got.status();
  size_ = *got;
  return {};
}

Result<std::vector<Unreadable>> FileBytes::load_readable(base::File& file, const std::string& path,
                                                         std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Unreadable> unreadable;
  const Status whole = load(file, path, offset, bytes);
  if (whole.ok()) return unreadable;
  if (whole.code() != StatusCode::kIoError) return whole;
  const auto size = file.size();
  if (!size.ok()) return size.status();
  const std::uint64_t end = offset + std::min(bytes, *size - std::min(offset, *size));
  for (std::uint64_t at = offset, next = 0; at < end; at = next) {
    next = std::min(end, (at / base::kDirectBlock + 1) * base::kDirectBlock);
    const std::span<char> block(buffer_.get() + (at - offset), next - at);
    std::fill(block.begin(), block.end(), '\0');
    const auto got = file.read_at(at, block);
    if (got.ok()) continue;
    if (got.status().code() != StatusCode::kIoError) return got.status();
    if (unreadable.empty() || unreadable.back().end != at) unreadable.push_back({at, at, got.status().message()});
    unreadable.back().end = next;
  }
  size_ = end - offset;
  return unreadable;
}

Result<SegmentReader> SegmentReader::open(std::string_view bytes, const std::string& path,
                                          const SegmentHeader& of_alone, bool ignore_header) {
  const SegmentHeader found = header_in(bytes);
  SegmentHeader expected = as_told_by(found, of_alone);
  if (ignore_header && !log::is_segment_version(found.version)) expected = with_version_of_entries(bytes, expected);
  SegmentReader reader(bytes, expected.crc);
  // The header is written and synced before anything in the segment counts, so a segment with an incomplete one holds
  // nothing.
  reader.header_missing_ = bytes.size() < sizeof expected || is_unfinished(bytes, expected);
  if (reader.header_missing_ || ignore_header) return reader;
  if (const std::string wrong = difference(found, expected); !wrong.empty()) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' is not the log segment that its name says: it has {}", path, wrong));
  }
  if (found.stamp != expected.stamp) {
    return Status(StatusCode::kDamaged,
                  fmt::format("'{}' is of another life of this database: it has stamp {}, and the manifest says {}",
                              path, log::stamp_text(found.stamp), log::stamp_text(expected.stamp)));
  }
  return reader;
}

/// Returns the header with the version by which some entry of the segment is whole, as the checksum of each entry
/// depends on it. If there is none, the version stays.
SegmentHeader SegmentReader::with_version_of_entries(std::string_view bytes, SegmentHeader header) {
  const SegmentHeader unchanged = header;
  for (const std::uint32_t version : log::kSegmentVersions) {
    header.version = version;
    header.seal();
    bool gave_up = false;
    if (SegmentReader(bytes, header.crc).find_valid(sizeof header, &gave_up) && !gave_up) return header;
  }
  return unchanged;
}

SegmentReader::Found SegmentReader::next() {
  if (header_missing_) {
    header_missing_ = false;
    at_ = bytes_.size();
    verdict_ = Verdict::kTornTail;
    fault_ = {0, "the segment's header was never written", std::nullopt};
    return Found::kFault;
  }
  for (;;) {
    if (!packed_.empty()) return next_packed();
    if (at_ >= bytes_.size()) return Found::kEnd;
    offset_ = at_;
    if (const char* const cause = check_entry(bytes_, at_, segment_crc_, &entry_)) {
      return all_zeros(bytes_.substr(at_)) ? Found::kEnd : fail(cause);
    }
    if (entry_.header.kind() == EntryKind::kPacked) {
      std::string_view content;
      if (const char* const cause = unpacker_.unpack(entry_.body, &content)) return fail(cause);
      packed_ = EntryList(content);
    }
    at_ += entry_.header.bytes();
    if (entry_.header.kind() == EntryKind::kMarker) return Found::kMarker;
    if (entry_.header.kind() == EntryKind::kContinues) return Found::kContinues;
    if (entry_.header.kind() == EntryKind::kTransaction) return Found::kTransaction;
  }
}

SegmentReader::Found SegmentReader::next_packed() {
  if (packed_.next(&entry_)) return Found::kTransaction;
  packed_ = EntryList();
  at_ = offset_;
  return fail("a packed entry whose content is no list of transactions");
}

/// Notes a fault, since the bytes at at_ are no entry. The next turn goes on where something valid begins again.
SegmentReader::Found SegmentReader::fail(const char* cause) {
  bool gave_up = false;
  fault_ = {at_, cause, find_valid(at_ + log::kAlignment, &gave_up)};
  if (gave_up) fault_.cause += " (and so much there looks like entries that the search for a whole one was given up)";
  if (fault_.next) {
    verdict_ = Verdict::kDamaged;
    at_ = *fault_.next;
  } else {
    if (verdict_ == Verdict::kClean) verdict_ = Verdict::kTornTail;
    at_ = bytes_.size();
  }
  return Found::kFault;
}

/// Tries every place where an entry could begin. The work is bounded: if too many bytes had to be summed up, the rest
/// counts as valid, so that it is taken for damage rather than for a tail.
std::optional<std::uint64_t> SegmentReader::find_valid(std::uint64_t from, bool* gave_up) {
  Entry entry;
  for (std::uint64_t at = from; at + sizeof(log::EntryHeader) <= bytes_.size(); at += log::kAlignment) {
    log::EntryHeader header;
    std::memcpy(&header, bytes_.data() + at, sizeof header);
    if (header.kind() == EntryKind::kNone || header.kind() > EntryKind::kContinues) continue;
    if (header.bytes() > bytes_.size() - at) continue;
    if (header.bytes() > search_budget_) {
      *gave_up = true;
      return bytes_.size();
    }
    search_budget_ -= header.bytes();
    if (check_entry(bytes_, at, segment_crc_, &entry) == nullptr) return at;
  }
  return std::nullopt;
}

std::uint64_t SegmentReader::next_segment() const {
  log::Continues continues;
  std::memcpy(&continues, entry_.body.data(), sizeof continues);
  return continues.sequence;
}

log::Marker SegmentReader::marker() const { return marker_in(entry_.body); }

}  // namespace granary::recovery
