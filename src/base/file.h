#pragma once
// The file layer: all that Granary asks of a file system, so that tests can put one below that fails, fills up or
// forgets what was not synced.
//
// Errors name the path, the operation and the system's reason. A write is whole or an error: short writes and
// interruptions are completed below this interface.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

namespace granary::base {

/// One open file. Used by one thread at a time.
class File {
 public:
  virtual ~File() = default;

  /// Writes at the end. After an error the file's end is unknown; nothing more may be appended.
  virtual Status append(std::span<const char> bytes) = 0;
  /// Returns once what was appended is on the device. After an error it must count as lost, also if a later call
  /// succeeds: the system may have dropped the dirty pages.
  virtual Status sync() = 0;
  /// Reads up to bytes.size() bytes from `offset`; fewer only at the end of the file. Returns how many.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) = 0;
  virtual Result<std::uint64_t> size() = 0;
};

/// Of new files: they hold what was committed, which is not for every user of the machine.
inline constexpr unsigned kNewFileMode = 0600;

/// What a direct file's size is a multiple of.
inline constexpr std::size_t kDirectBlock = 4096;

/// Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// A new empty file, to append to; kAlreadyExists if there is one. Durable only after sync() and sync_directory().
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;
  /// As create(), for much that nobody reads soon: past the page cache where the system can. Appends are gathered and
  /// written while the caller goes on, so their errors may come later, at the latest with sync(). Zeros may follow what
  /// was appended, up to a multiple of kDirectBlock.
  virtual Result<std::unique_ptr<File>> create_direct(const std::string& path) { return create(path); }
  /// A new file of `bytes` zeros whose space is set aside; kDiskFull, and no file, if there is not so much.
  virtual Status reserve(const std::string& path, std::uint64_t bytes) = 0;
  /// Such a file, which nobody has written to, to append from its start on, as with create_direct().
  virtual Result<std::unique_ptr<File>> open_reserved(const std::string& path) = 0;
  /// An existing file, to write over: append() begins at `offset`, which is not behind its end. What is not written
  /// over stays as it is.
  virtual Result<std::unique_ptr<File>> open_at(const std::string& path, std::uint64_t offset) = 0;
  /// An existing file, to read; kNotFound if there is none.
  virtual Result<std::unique_ptr<File>> open(const std::string& path) = 0;
  /// Makes the file if need be and locks it until the returned object or the process ends; kUnavailable if it is locked
  /// already, by whatever process, kFailedPrecondition if it is no regular file.
  virtual Result<std::unique_ptr<File>> lock(const std::string& path) = 0;
  /// Puts `from` in the place of `to`, atomically; durable after sync_directory().
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// A file, or an empty directory. kNotFound if there is none.
  virtual Status remove(const std::string& path) = 0;
  /// Names in the directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  /// Makes the directory and those above, durable at once; none of them missing is success.
  virtual Status make_directory(const std::string& path) = 0;
  /// Makes creations, renames and removals in the directory durable.
  virtual Status sync_directory(const std::string& path) = 0;
};

/// The system's files.
FileSystem& system_files();

/// The status of a system call that failed with errno: "cannot OPERATION 'PATH': reason".
Status file_error(const char* operation, const std::string& path, int error);

/// All of a file.
Result<std::string> read_file(FileSystem& files, const std::string& path);

/// replace_file() appends this to a file's name for the one that it writes aside.
inline constexpr std::string_view kAsideSuffix = ".new";

/// Replaces a file as a whole: written aside, synced, renamed, directory synced. A crash leaves the old or the new one,
/// and perhaps an unfinished one beside it; an error before the renaming leaves the old one alone.
Status replace_file(FileSystem& files, const std::string& path, std::span<const char> bytes);

}  // namespace granary::base
