#include "cluster_config/membership/local/membership_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>

#include "src/base/file.h"

namespace granary::membership {
namespace {

constexpr std::string_view kDocument = "configuration.";
constexpr std::string_view kNode = "node-";
constexpr std::string_view kMark = ".alive";
constexpr std::string_view kBeat = ".beat";

/// Returns the number between prefix and suffix, if the name is of this form.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string document_name(std::uint64_t version) { return fmt::format("{}{}", kDocument, version); }
std::string mark_name(NodeId id) { return fmt::format("{}{}{}", kNode, id, kMark); }

/// Returns a lock of all of a file.
struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Whether another process has the lock. An error must not pass for an answer: nodes whose marks are free are dead.
Result<bool> is_locked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return base::file_error("open", path, errno);
  struct flock lock = whole_file(F_RDLCK);
  const int error = ::fcntl(file, F_OFD_GETLK, &lock) == 0 ? 0 : errno;
  ::close(file);
  if (error != 0) return base::file_error("ask for the lock of", path, error);
  return lock.l_type != F_UNLCK;
}

Status write_whole(const std::string& path, int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::file_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Writes the text to a new file. The file must not exist.
Status write_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return base::file_error("create", path, errno);
  Status status = write_whole(path, file, text);
  ::close(file);
  return status;
}

}  // namespace

Result<MembershipFiles> MembershipFiles::open(const std::string& run_directory) {
  MembershipFiles files(run_directory + "/membership");
  const std::string& directory = files.directory_;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::file_error("create", directory, errno);
  }
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return base::file_error("look at", directory, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format(
            "'{}' is open to others, or belongs to another user: `chown` it to the user that runs the nodes, `chmod "
            "700` it, or choose another run directory",
            directory));
  }
  return files;
}

Result<int> MembershipFiles::lock_mark(NodeId id, const std::string& who) const {
  const std::string mark = path(mark_name(id));
  const int file = ::open(mark.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return base::file_error("open", mark, errno);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file, F_OFD_SETLK, &lock) == 0 && ::ftruncate(file, 0) == 0) {
    const Status status = write_whole(mark, file, fmt::format("process {} ({})", ::getpid(), who));
    if (status.ok()) return file;
    unlock_mark(file, ::getpid());
    return status;
  }
  const int error = errno;
  unlock_mark(file, ::getpid());
  if (error != EAGAIN && error != EACCES) return base::file_error("lock", mark, error);
  const Result<std::string> holder = base::read_file(base::system_files(), mark);
  return Status(
      StatusCode::kAlreadyExists,
      fmt::format("node {} is a member already: {} has '{}' locked; give this node another id, or end that one", id,
                  holder.ok() && !holder->empty() ? *holder : "another process", mark));
}

/// Unlocks the mark. The lock belongs to the open file (F_OFD_SETLK), which a child shares, so closing the descriptor
/// here would leave the lock with the child. base::unlock() does the same for locks by flock(). But a process can ask
/// for such a lock only by taking it, and is_locked() has to ask.
void MembershipFiles::unlock_mark(int descriptor, pid_t taker) {
  struct flock none = whole_file(F_UNLCK);
  if (::getpid() == taker) (void)::fcntl(descriptor, F_OFD_SETLK, &none);
  ::close(descriptor);
}

bool MembershipFiles::is_mark(int descriptor, NodeId id) const {
  struct stat mine {
  }, there{};
  return ::fstat(descriptor, &mine) == 0 && ::stat(path(mark_name(id)).c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

std::string MembershipFiles::heartbeat(NodeId id) const { return path(fmt::format("{}{}{}", kNode, id, kBeat)); }

Result<std::vector<NodeId>> MembershipFiles::locked_marks() const {
  const Result<std::vector<std::string>> names = base::system_files().list(directory_);
  if (!names.ok()) return names.status();
  std::vector<NodeId> nodes;
  for (const std::string& name : *names) {
    const std::optional<std::uint64_t> id = number_in(name, kNode, kMark);
    if (!id || *id >= kMostMembers) continue;
    const Result<bool> locked = is_locked(path(name));
    if (!locked.ok()) return locked.status();
    if (*locked) nodes.push_back(static_cast<NodeId>(*id));
  }
  return nodes;
}

Result<std::vector<std::uint64_t>> MembershipFiles::versions() const {
  const Result<std::vector<std::string>> names = base::system_files().list(directory_);
  if (!names.ok()) return names.status();
  std::vector<std::uint64_t> versions;
  for (const std::string& name : *names) {
    if (const std::optional<std::uint64_t> version = number_in(name, kDocument, "")) versions.push_back(*version);
  }
  std::ranges::sort(versions);
  return versions;
}

Result<Document> MembershipFiles::newest() const {
  // A document that goes away between the look and the reading has successors. During such changes a listing may miss
  // both the old one and the new one. Several listings in a row would have to, before the directory counts as empty.
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; ++look) {
    const Result<std::vector<std::uint64_t>> found = versions();
    if (!found.ok()) return found.status();
    if (found->empty()) {
      if (look < 3) continue;
      break;
    }
    Result<std::string> text = read_whole(*found);
    if (text.ok()) return Document{found->back(), std::move(*text)};
    if (text.status().code() != StatusCode::kNotFound) return text.status();
  }
  return Status(StatusCode::kNotFound, fmt::format("no configuration in '{}'", directory_));
}

/// Reads the newest document that has its bytes. Nothing is synced, so a power loss may leave the name of a document
/// without its bytes. A power loss ends all nodes of the host at once, and they recover from their directories after
/// it. So it does not matter if they find an older configuration, or none. The next document follows the empty one.
Result<std::string> MembershipFiles::read_whole(const std::vector<std::uint64_t>& versions) const {
  Result<std::string> text = std::string();
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    text = base::read_file(base::system_files(), path(document_name(*version)));
    if (!text.ok() || text->find_first_not_of('\0') != std::string::npos) break;
  }
  return text;
}

Result<bool> MembershipFiles::add(std::uint64_t version, const std::string& text, NodeId writer) const {
  std::random_device random;
  const std::string draft = path(fmt::format("draft-{:08x}{:08x}", random(), random()));
  const std::string added = path(document_name(version + 1));
  const Status written = write_file(draft, text);
  const int error = !written.ok() || ::link(draft.c_str(), added.c_str()) == 0 ? 0 : errno;
  ::unlink(draft.c_str());
  if (!written.ok()) return written;
  if (error == EEXIST) return false;
  if (error != 0) return base::file_error("create", added, error);
  if (!is_next(version)) {
    ::unlink(added.c_str());
    return false;
  }
  remove_old(version + 1, writer);
  return true;
}

/// Whether the document that was just made after `version` was never there before.
bool MembershipFiles::is_next(std::uint64_t version) const {
  if (version != 0) return ::access(path(document_name(version)).c_str(), F_OK) == 0;
  const Result<std::vector<std::uint64_t>> all = versions();
  return all.ok() && !all->empty() && all->back() == all->size() && all->size() <= kKept;
}

void MembershipFiles::remove_old(std::uint64_t newest, NodeId writer) const {
  const Result<std::vector<NodeId>> marks = locked_marks();
  const bool alone = marks.ok() && *marks == std::vector<NodeId>{writer};
  const std::uint64_t kept = alone ? 1 : kKept;
  const Result<std::vector<std::uint64_t>> all = versions();
  for (const std::uint64_t older : all.ok() ? *all : std::vector<std::uint64_t>()) {
    if (older + kept <= newest) ::unlink(path(document_name(older)).c_str());
  }
}

}  // namespace granary::membership
