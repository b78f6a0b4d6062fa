#include "bench/store/two_pc/address_book.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "src/base/file.h"

namespace granary::bench::two_pc {

Result<Token> new_token() {
  Token token{};
  if (::getrandom(token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token))
    return Status(StatusCode::kUnavailable, "the system has no random bytes");
  return token;
}

Result<AddressBook> AddressBook::open(const std::string& directory) {
  const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
  std::error_code ignored;                                   // mkdir() tells of an error
  if (std::filesystem::create_directories(parent, ignored))  // for its owner only, as other protocols require
    std::filesystem::permissions(parent, std::filesystem::perms::owner_all, ignored);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return base::file_error("create", directory, errno);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return base::file_error("look at", directory, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("'{}' is open to others, or belongs to another user: `chmod 700` it", directory));
  }
  return AddressBook(directory);
}

std::string AddressBook::path(std::uint32_t node) const { return fmt::format("{}/node-{}", directory_, node); }

Status AddressBook::write(std::uint32_t node, const Entry& entry) const {
  const std::string text = fmt::format("{} {} {} {}\n", entry.address, entry.port, entry.token[0], entry.token[1]);
  return base::replace_file(base::system_files(), path(node), text);
}

Result<Entry> AddressBook::read(std::uint32_t node) const {
  const Result<std::string> text = base::read_file(base::system_files(), path(node));
  if (!text.ok()) return text.status();
  Entry entry;
  if (std::istringstream(*text) >> entry.address >> entry.port >> entry.token[0] >> entry.token[1]) return entry;
  return Status(StatusCode::kDamaged, fmt::format("'{}' says not where the node listens", path(node)));
}

void AddressBook::remove(std::uint32_t node) const { static_cast<void>(base::system_files().remove(path(node))); }

}  // namespace granary::bench::two_pc
