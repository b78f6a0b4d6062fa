#include "recovery/owner.h"

#include <fmt/format.h>

#include "recovery/checked_text.h"

namespace granary::recovery {
namespace {

constexpr std::string_view kTitle = "granary owner 1";

std::string file_in(const std::string& directory) { return fmt::format("{}/{}", directory, kOwnerName); }

std::string text_of(const Owner& owner) {
  return with_checksum(fmt::format("{}\ndatabase {}\ninstance {}\ndirectory {}\npath {}\n", kTitle,
                                   log::to_text(owner.database), log::to_text(owner.instance), escape(owner.directory),
                                   escape(owner.path)));
}

/// Takes the next line off the text. Returns the rest of it after the word with which it must begin.
std::optional<std::string_view> next_line(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(word)) return std::nullopt;
  const std::string_view rest = text.substr(word.size(), end - word.size());
  text.remove_prefix(end + 1);
  return rest;
}

std::optional<Owner> parse(std::string_view body) {
  if (next_line(body, kTitle) != "") return std::nullopt;
  const auto database = next_line(body, "database ");
  const auto instance = next_line(body, "instance ");
  const auto directory = next_line(body, "directory ");
  const auto path = next_line(body, "path ");
  if (!database || !instance || !directory || !path || !body.empty()) return std::nullopt;
  const auto database_id = id_of(*database), instance_id = id_of(*instance);
  const auto directory_bytes = unescape(*directory), path_bytes = unescape(*path);
  if (!database_id || !instance_id || !directory_bytes || !path_bytes) return std::nullopt;
  return Owner{*database_id, *instance_id, *directory_bytes, *path_bytes};
}

}  // namespace

Result<std::optional<Owner>> read_owner(base::FileSystem& files, const std::string& directory) {
  const std::string path = file_in(directory);
  const auto text = base::read_file(files, path);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    if (const auto there = files.list(directory); !there.ok()) return there.status();
    return std::optional<Owner>();
  }
  if (!text.ok()) return text.status();
  const CheckedText checked = check_text(*text);
  const auto owner = checked.error.empty() ? parse(checked.body) : std::nullopt;
  if (owner) return owner;
  return Status(
      StatusCode::kDamaged,
      fmt::format("'{}' does not say whose the directory is: {}. If it is this database's, remove the file; the "
                  "next opening writes it again",
                  path, checked.error.empty() ? "it is of another format" : checked.error));
}

Status write_owner(base::FileSystem& files, const Owner& owner) {
  const auto found = base::read_file(files, file_in(owner.path));
  if (found.ok() && *found == text_of(owner)) return {};
  return base::replace_file(files, file_in(owner.path), text_of(owner));
}

}  // namespace granary::recovery
