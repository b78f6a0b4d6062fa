#pragma once
// Declares the file layer: everything that Granary asks of a file system. So tests can put a file system below it that
// fails, fills up or forgets bytes that were not synced.
//
// Errors name the path, the operation and the system's reason. A write is whole or an error: short writes and
// interruptions are completed below this interface.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>
#include <granary/status.h>

namespace granary::base {

/// One open file. One thread at a time uses it.
class File {
 public:
  virtual ~File() = default;

  /// Writes at the end. After an error the file's end is unknown; nothing more may be appended.
  virtual Status append(std::span<const char> bytes) = 0;
  /// Returns once all that was appended is on the device. After an error it must count as lost, even if a later call
  /// succeeds: the system may have dropped the dirty pages.
  virtual Status sync() = 0;
  /// Reads up to bytes.size() bytes from `offset`; fewer only at the end of the file. Returns how many.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Makes the system forget what it holds of the file in memory, so that the next reads come from the device. What is
  /// not synced stays, and so does all of it where the system cannot do that.
  virtual void drop_cache() {}
};

/// The mode of new files. They hold committed data, which not every user of the machine may read.
inline constexpr unsigned kNewFileMode = 0600;

/// The size of a direct file is a multiple of this.
inline constexpr std::size_t kDirectBlock = 4096;

/// A file system. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Makes a new empty file, to append to. Returns kAlreadyExists if there is one. The file is durable only after
  /// sync() and sync_directory().
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;
  /// Makes a file as create() does, for many bytes that are not read soon: past the page cache if the system can do
  /// that. Appends are gathered and written while the caller goes on, so their errors may come later, at the latest
  /// with sync(). Zeros may follow the appended bytes, up to a multiple of kDirectBlock.
  virtual Result<std::unique_ptr<File>> create_direct(const std::string& path) { return create(path); }
  /// Makes a new file of `bytes` zeros whose space is set aside. Returns kDiskFull, and leaves no file, if there is not
  /// so much space.
  virtual Status reserve(const std::string& path, std::uint64_t bytes) = 0;
  /// Opens such a file, which was never written to, to append from its start on, as with create_direct(), and renames
  /// it to `name`. After an error it has its old name. The new one is durable after sync_directory().
  virtual Result<std::unique_ptr<File>> open_reserved(const std::string& path, const std::string& name) = 0;
  /// Opens an existing file, to write over its bytes: append() begins at `offset`, which is not after its end. Bytes
  /// that are not written over stay as they are.
  virtual Result<std::unique_ptr<File>> open_at(const std::string& path, std::uint64_t offset) = 0;
  /// Opens an existing file, to read. Returns kNotFound if there is none.
  virtual Result<std::unique_ptr<File>> open(const std::string& path) = 0;
  /// Makes the file if need be and locks it until the returned object or the process ends. Returns kUnavailable if any
  /// process has locked it already, kFailedPrecondition if it is no regular file.
  virtual Result<std::unique_ptr<File>> lock(const std::string& path) = 0;
  /// Renames `from` to `to`, which it replaces atomically. Durable after sync_directory().
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file, or an empty directory. Returns kNotFound if there is none.
  virtual Status remove(const std::string& path) = 0;
  /// Returns the names in the directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  /// Makes the directory and those above it, each durable before anything is made in it. Succeeds if none of them is
  /// missing. An empty one that is there is made durable, too. After an error, one whose name may not be durable is
  /// gone again.
  virtual Status make_directory(const std::string& path) = 0;
  /// Makes creations, renames and removals in the directory durable.
  virtual Status sync_directory(const std::string& path) = 0;
  /// Opens a directory only to sync it: its sync() does what sync_directory() does, if possible without another
  /// descriptor, of which the process may have none left.
  virtual Result<std::unique_ptr<File>> open_directory(const std::string& path);
};

/// Returns the system's files.
FileSystem& system_files();

/// Returns the status of a system call that failed with errno: "cannot OPERATION 'PATH': reason".
Status file_error(const char* operation, const std::string& path, int error);

/// Reads all of a file.
Result<std::string> read_file(FileSystem& files, const std::string& path);

/// The suffix that replace_file() appends to a file's name for the new file that it writes first.
inline constexpr std::string_view kAsideSuffix = ".new";

/// Replaces a file as a whole: writes and syncs the new bytes under another name, renames that file, and syncs the
/// directory. A crash leaves the old file or the new one, and perhaps an unfinished one beside it. An error before the
/// renaming leaves the old one alone.
Status replace_file(FileSystem& files, const std::string& path, std::span<const char> bytes);
/// Replaces a file as replace_file() above does, by what `write` appends to the new one.
Status replace_file(FileSystem& files, const std::string& path, FunctionRef<Status(File& aside)> write);

}  // namespace granary::base
