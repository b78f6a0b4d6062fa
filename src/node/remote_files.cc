#include "src/node/remote_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace granary::db {

using cluster::messages::ListFiles;
using cluster::messages::QuestionOf;
using cluster::messages::ReadFile;
using cluster::messages::ReadFileAnswer;

namespace {

Status of_node(rdma::NodeId node, StatusCode code, const std::string& why) {
  return {code, fmt::format("node {}: {}", node, why)};
}

class RemoteFile final : public base::File {
 public:
  /// `first` is the answer that opened the file; it has the file's size and its first bytes.
  RemoteFile(RemoteFiles& files, std::string path, ReadFileAnswer first)
      : files_(files),
        path_(std::move(path)),
        first_(std::move(first)) {}

  Status append(std::span<const char>) override { return not_written(); }
  Status sync() override { return not_written(); }
  Result<std::uint64_t> size() override { return first_.file_bytes; }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override {
    std::size_t done = 0;
    if (offset < first_.bytes.size()) done = first_.bytes.copy(bytes.data(), bytes.size(), offset);
    while (done < bytes.size()) {
      const auto answer = files_.read(path_, offset + done, bytes.size() - done);
      if (!answer.ok()) return answer.status();
      if (answer->bytes.empty()) break;
      std::memcpy(bytes.data() + done, answer->bytes.data(), answer->bytes.size());
      done += answer->bytes.size();
    }
    return done;
  }

 private:
  Status not_written() const {
    return {StatusCode::kFailedPrecondition, fmt::format("'{}' is another node's, and only read", path_)};
  }

  RemoteFiles& files_;
  const std::string path_;
  const ReadFileAnswer first_;
};

}  // namespace

Status RemoteFiles::refuse(const std::string& path) const {
  return of_node(node_, StatusCode::kFailedPrecondition, fmt::format("'{}' is only read from here", path));
}

Result<ReadFileAnswer> RemoteFiles::read(const std::string& path, std::uint64_t offset, std::uint64_t most) {
  constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint32_t>::max();
  QuestionOf<ReadFile> question(
      node_, {.path = path, .offset = offset, .bytes = static_cast<std::uint32_t>(std::min(most, kGreatest))});
  if (const Status asked = asks_.read(question); !asked.ok()) return asked;
  ReadFileAnswer& answer = question.answer();
  if (answer.missing) return of_node(node_, StatusCode::kNotFound, answer.error);
  if (!answer.error.empty()) return of_node(node_, StatusCode::kIoError, answer.error);
  if (answer.bytes.size() > most) return of_node(node_, StatusCode::kDamaged, "more bytes of a file than asked for");
  return std::move(answer);
}

Result<std::unique_ptr<base::File>> RemoteFiles::open(const std::string& path) {
  auto first = read(path, 0, std::numeric_limits<std::uint64_t>::max());
  if (!first.ok()) return first.status();
  return std::unique_ptr<base::File>(std::make_unique<RemoteFile>(*this, path, std::move(*first)));
}

Result<std::vector<std::string>> RemoteFiles::list(const std::string& directory) {
  std::vector<std::string> names;
  for (bool more = true; more;) {
    const std::string after = names.empty() ? "" : names.back();
    QuestionOf<ListFiles> question(node_, {.directory = directory, .after = after});
    if (const Status asked = asks_.list(question); !asked.ok()) return asked;
    auto& answer = question.answer();
    if (!answer.error.empty()) return of_node(node_, StatusCode::kIoError, answer.error);
    more = answer.more && !answer.names.empty() && answer.names.back() > after;
    names.insert(names.end(), answer.names.begin(), answer.names.end());
  }
  return names;
}

}  // namespace granary::db
