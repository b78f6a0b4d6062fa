#include "bench/append/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bench/append/history/edn.h"

namespace granary::bench::append {

Result<std::unique_ptr<Journal>> Journal::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return Status(StatusCode::kUnavailable, fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  return std::unique_ptr<Journal>(new Journal(path, descriptor));
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::write(const history::Event& event) {
  if (error_.load(std::memory_order_relaxed) != 0) return;
  const std::string line = history::edn_line(event, {});
  ssize_t written = 0;  // one call for each line, as other clients append to the file, too
  while ((written = ::write(descriptor_, line.data(), line.size())) < 0 && errno == EINTR) {
  }
  if (written == static_cast<ssize_t>(line.size())) return;
  int none = 0;
  error_.compare_exchange_strong(none, written < 0 ? errno : ENOSPC, std::memory_order_relaxed);
}

Status Journal::status() const {
  const int error = error_.load(std::memory_order_relaxed);
  if (error == 0) return {};
  return {error == ENOSPC ? StatusCode::kDiskFull : StatusCode::kIoError,
          fmt::format("the history '{}' is not whole: {}", path_, std::strerror(error))};
}

}  // namespace granary::bench::append
