// Writes and reads the manifest. Reading trusts nothing (checked_fields.h); a mistake makes the whole manifest damaged.

#include "recovery/manifest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include <granary/limits.h>

#include "recovery/checked_fields.h"
#include "recovery/checked_text.h"
#include "recovery/indented_json.h"
#include "src/cc/protocols.h"
#include "src/record/tid.h"
#include "src/txn/index_key.h"

namespace granary::recovery {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

constexpr std::pair<IndexPart::Source, std::string_view> kSourceWords[] = {
    {IndexPart::Source::kKey, "key"},
    {IndexPart::Source::kValue, "value"},
};
constexpr std::pair<IndexEncoding, std::string_view> kEncodingWords[] = {
    {IndexEncoding::kBytes, "bytes"},
    {IndexEncoding::kUnsigned, "unsigned"},
    {IndexEncoding::kSigned, "signed"},
    {IndexEncoding::kText, "text"},
};
constexpr Words<IndexPart::Source> kSources{kSourceWords};
constexpr Words<IndexEncoding> kEncodings{kEncodingWords};

template <typename Enum>
std::string word_of(Enum wanted, Words<Enum> words) {
  for (const auto& [value, word] : words) {
    if (value == wanted) return std::string(word);
  }
  return "?";
}

// --- writing ---

void write_index(IndentedJson& out, const IndexOptions& index) {
  out.flag("unique", index.unique);
  out.array("parts", [&] {
    for (const IndexPart& part : index.parts) {
      out.object("", [&] {
        out.text("source", word_of(part.source, kSources));
        out.number("offset", part.offset);
        out.number("length", part.length);
        out.text("encoding", word_of(part.encoding, kEncodings));
      });
    }
  });
}

void write_range(IndentedJson& out, const SegmentRange& range) {
  out.number("first", range.first);
  if (!range.end) return;
  out.number("last", range.end->sequence);
  out.number("bytes", range.end->offset);
}

void write_generation(IndentedJson& out, const Generation& generation) {
  out.number("number", generation.number);
  out.text("stamp", log::stamp_text(generation.stamp));
  out.number("loggers", generation.loggers);
  out.number("first_epoch", generation.first_epoch);
  if (generation.life != 0) out.number("life", generation.life);
  if (generation.begins_empty) out.flag("returning", true);  // old releases know it by this name
  if (generation.admitted) out.number("admitted", *generation.admitted);
  if (generation.protocol != Generation().protocol) out.text("protocol", generation.protocol);
  if (generation.cut) {
    out.number("cut", *generation.cut);
    out.number("durable", generation.durable);
    if (generation.released != 0) out.number("released", generation.released);
    if (generation.agreed) out.flag("agreed", true);
    if (generation.end) out.flag("end", true);
  }
  if (generation.segments.empty()) return;
  out.array("segments", [&] {
    for (const SegmentRange& range : generation.segments) out.object("", [&] { write_range(out, range); });
  });
}

void write_table(IndentedJson& out, const TableEntry& table) {
  out.number("id", table.id);
  out.text("name", escape(table.name));
  out.number("max_value_bytes", table.max_value_bytes);
  if (table.base) {
    out.number("base", *table.base);
    out.object("index", [&] { write_index(out, table.index); });
  }
  if (table.hash_keys) out.object("hash", [&] { out.number("keys", *table.hash_keys); });
  if (table.shared) out.flag("shared", true);
  if (table.immutable) out.flag("immutable", true);
  if (table.sealed) out.flag("sealed", true);
}

void write_residence(IndentedJson& out, const Residence& residence) {
  out.text("directory", escape(residence.directory));
  out.number("device", residence.identity.device);
  out.number("inode", residence.identity.inode);
  out.number("born_ns", residence.identity.born_ns);
}

void write_checkpoint(IndentedJson& out, const CheckpointEntry& checkpoint) {
  out.number("epoch", checkpoint.epoch);
  out.text("directory", escape(checkpoint.directory));
  out.text("stamp", log::stamp_text(checkpoint.stamp));
}

void write_all(IndentedJson& out, const Manifest& manifest) {
  out.number("format", kManifestVersion);
  out.text("database", to_text(manifest.database));
  out.text("instance", to_text(manifest.instance));
  out.array("log_directories", [&] {
    for (const std::string& directory : manifest.log_directories) out.text("", escape(directory));
  });
  out.text("reliable_directory", escape(manifest.reliable_directory));
  out.text("boot", escape(manifest.boot));
  out.array("generations", [&] {
    for (const Generation& each : manifest.generations) out.object("", [&] { write_generation(out, each); });
  });
  out.array("tables", [&] {
    for (const TableEntry& each : manifest.tables) out.object("", [&] { write_table(out, each); });
  });
  if (manifest.residence) out.object("residence", [&] { write_residence(out, *manifest.residence); });
  if (manifest.checkpoint) out.object("checkpoint", [&] { write_checkpoint(out, *manifest.checkpoint); });
}

// --- reading ---

log::DatabaseId parse_id(const std::string& text, const char* field, Complaint& complaint) {
  const auto id = id_of(text);
  if (!id) complaint.add(fmt::format("{} is \"{}\"; expected 32 hexadecimal digits", field, escape(text)));
  return id.value_or(log::DatabaseId());
}

/// Checks a directory, which is inside the database's if it is not absolute.
void check_directory(const std::string& directory, const std::string& where, Complaint& complaint) {
  const std::string bounded = "/" + directory + "/";
  if (directory.empty() || (!directory.starts_with('/') && bounded.find("/../") != std::string::npos)) {
    complaint.add(fmt::format("{} is \"{}\"; expected an absolute path, or one inside the database's directory", where,
                              escape(directory)));
  }
}

Residence parse_residence(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  Residence residence;
  residence.directory = fields.bytes("directory");
  residence.identity.device = fields.number("device", kAny);
  residence.identity.inode = fields.number("inode", kAny);
  residence.identity.born_ns = fields.number("born_ns", kAny);
  fields.end();
  return residence;
}

SegmentRange parse_range(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  SegmentRange range{.first = fields.number("first", kAny)};
  if (fields.has("last")) range.end = {fields.number("last", kAny, range.first), fields.number("bytes", kAny)};
  fields.end();
  return range;
}

Generation parse_generation(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  Generation generation;
  generation.number = fields.number("number", kAny);
  generation.stamp = fields.stamp();
  generation.loggers = fields.small_number("loggers", kMaxLoggers, 1);
  generation.first_epoch = fields.number("first_epoch", record::kMaxEpoch, 1);
  if (fields.has("life")) generation.life = fields.small_number("life", std::numeric_limits<std::uint32_t>::max(), 1);
  generation.begins_empty = fields.has("returning") && fields.flag("returning");
  if (fields.has("admitted")) generation.admitted = fields.number("admitted", record::kMaxEpoch, 1);
  if (fields.has("protocol")) generation.protocol = fields.bytes("protocol");
  if (!cc::Protocols::number_of(generation.protocol))
    complaint.add(
        fmt::format("{}.protocol is \"{}\", which this release does not know", place, escape(generation.protocol)));
  if (fields.has("cut")) {
    generation.cut = fields.number("cut", record::kMaxEpoch);
    generation.durable = fields.number("durable", record::kMaxEpoch);
    if (fields.has("released")) generation.released = fields.number("released", record::kMaxEpoch);
    generation.agreed = fields.has("agreed") && fields.flag("agreed");
    generation.end = fields.has("end") && fields.flag("end");
  }
  if (fields.has("segments")) {
    fields.array("segments", [&](const json& range, const std::string& where) {
      generation.segments.push_back(parse_range(range, where, complaint));
    });
    if (generation.segments.size() != generation.loggers)
      complaint.add(fmt::format("{}.segments has {} elements; expected {}, one for each logger", place,
                                generation.segments.size(), generation.loggers));
  }
  fields.end();
  return generation;
}

IndexPart parse_part(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();
  IndexPart part;
  part.source = fields.word("source", kSources);
  part.offset = fields.small_number("offset", kAny32);
  part.length = fields.small_number("length", kAny32);
  part.encoding = fields.word("encoding", kEncodings);
  fields.end();
  return part;
}

IndexOptions parse_index(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  IndexOptions index;
  index.unique = fields.flag("unique");
  fields.array("parts", [&](const json& part, const std::string& where) {
    index.parts.push_back(parse_part(part, where, complaint));
  });
  fields.end();
  if (const std::string error = txn::index_options_error(index); !error.empty())
    complaint.add(fmt::format("{} describes no index: {}", place, error));
  return index;
}

std::uint64_t parse_hash(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  const std::uint64_t keys = fields.number("keys", kMaxExpectedKeys, 1);
  fields.end();
  return keys;
}

void parse_seal(TableEntry& table, Fields& fields, const std::string& place, Complaint& complaint) {
  if (fields.has("immutable")) table.immutable = fields.flag("immutable");
  if (!fields.has("sealed")) return;
  table.sealed = fields.flag("sealed");
  if (!table.immutable || table.base) complaint.add(fmt::format("{} describes no table that can be sealed", place));
}

TableEntry parse_table(const json& value, const std::string& place, std::size_t position, Complaint& complaint) {
  Fields fields(value, place, complaint);
  TableEntry table;
  table.id = fields.small_number("id", kMaxTables - 1);
  table.name = fields.bytes("name");
  table.max_value_bytes = fields.small_number("max_value_bytes", kMaxValueBytes);
  if (fields.has("base")) {
    table.base = fields.small_number("base", kMaxTables - 1);
    fields.object("index", [&](const json& index, const std::string& where) {
      table.index = parse_index(index, where, complaint);
    });
    if (*table.base >= position)
      complaint.add(fmt::format("{} is an index of table {}, which does not stand before it", place, *table.base));
  }
  if (fields.has("hash")) {
    fields.object("hash", [&](const json& hash, const std::string& where) {
      table.hash_keys = parse_hash(hash, where, complaint);
    });
    if (table.base) complaint.add(fmt::format("{} is an index of a table and has a hash index", place));
  }
  if (fields.has("shared")) {
    table.shared = fields.flag("shared");
    if (!table.shared || table.max_value_bytes == 0 || table.max_value_bytes > kMaxSharedValueBytes)
      complaint.add(fmt::format("{} describes no shared table", place));
  }
  parse_seal(table, fields, place, complaint);
  fields.end();
  if (table.id != position) complaint.add(fmt::format("{}.id is {}; expected {}", place, table.id, position));
  if (table.name.empty() || table.name.size() > kMaxNameBytes)
    complaint.add(fmt::format("{}.name has {} bytes; expected 1 to {}", place, table.name.size(), kMaxNameBytes));
  return table;
}

CheckpointEntry parse_checkpoint(const json& value, const std::string& place, Complaint& complaint) {
  Fields fields(value, place, complaint);
  CheckpointEntry checkpoint;
  checkpoint.epoch = fields.number("epoch", record::kMaxEpoch);
  checkpoint.directory = fields.bytes("directory");
  checkpoint.stamp = fields.stamp();
  fields.end();
  return checkpoint;
}

Manifest parse_fields(const json& document, Complaint& complaint) {
  Fields fields(document, "it", complaint);
  Manifest manifest;
  fields.number("format", kManifestVersion, kManifestVersion);
  manifest.database = parse_id(fields.bytes("database"), "database", complaint);
  manifest.instance = parse_id(fields.bytes("instance"), "instance", complaint);
  if (fields.has("residence")) {
    fields.object("residence", [&](const json& residence, const std::string& where) {
      manifest.residence = parse_residence(residence, where, complaint);
    });
  }
  fields.array("log_directories", [&](const json& directory, const std::string& where) {
    manifest.log_directories.push_back(fields.bytes_of(directory, where));
    check_directory(manifest.log_directories.back(), where, complaint);
  });
  manifest.reliable_directory = fields.bytes("reliable_directory");
  if (!manifest.reliable_directory.empty())
    check_directory(manifest.reliable_directory, "reliable_directory", complaint);
  manifest.boot = fields.bytes("boot");
  fields.array("generations", [&](const json& generation, const std::string& where) {
    manifest.generations.push_back(parse_generation(generation, where, complaint));
    const std::size_t count = manifest.generations.size();
    if (count > 1 && manifest.generations[count - 2].number >= manifest.generations[count - 1].number)
      complaint.add(fmt::format("{}.number is not greater than the one before", where));
  });
  fields.array("tables", [&](const json& table, const std::string& where) {
    manifest.tables.push_back(parse_table(table, where, manifest.tables.size(), complaint));
  });
  if (fields.has("checkpoint")) {
    fields.object("checkpoint", [&](const json& checkpoint, const std::string& where) {
      manifest.checkpoint = parse_checkpoint(checkpoint, where, complaint);
    });
  }
  fields.end();
  return manifest;
}

/// Reads only the version number, because another version may have other fields.
std::optional<std::uint64_t> version_of(const json& document) {
  if (!document.is_object()) return std::nullopt;
  const auto found = document.find("format");
  if (found == document.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  IndentedJson document;
  document.object("", [&] { write_all(document, manifest); });
  return with_checksum(document.take() + "\n");
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& path) {
  const auto damaged = [&](std::string_view why) {
    return Status(StatusCode::kDamaged, fmt::format("the manifest '{}' is damaged: {}", path, why));
  };
  const CheckedText checked = check_text(text);
  if (!checked.error.empty()) return damaged(checked.error);
  const json document = json::parse(checked.body, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return damaged("it is no JSON, although its checksum is right");
  if (const auto version = version_of(document); version && *version != kManifestVersion)
    return damaged(fmt::format("it has format version {}, expected {}", *version, kManifestVersion));
  Complaint complaint;
  Manifest manifest = parse_fields(document, complaint);
  if (!complaint.what.empty()) return damaged(complaint.what);
  return manifest;
}

}  // namespace granary::recovery
