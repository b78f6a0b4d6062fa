#include "cluster_config/membership/local/bells.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <string_view>

#include "src/base/file.h"

namespace granary::membership {
namespace {

constexpr std::string_view kBell = "bell-";

std::vector<std::string> bells_in(const std::string& directory) {
  const Result<std::vector<std::string>> names = base::system_files().list(directory);
  std::vector<std::string> bells;
  if (!names.ok()) return bells;  // the next pulse sees the bells
  std::copy_if(names->begin(), names->end(), std::back_inserter(bells),
               [](const std::string& name) { return name.starts_with(kBell); });
  return bells;
}

}  // namespace

/// Makes a bell. The pipe gets the name of a bell only when it is open. So a bell that no process has open for reading
/// belongs to a process that has ended.
Result<Bells> Bells::hang(const std::string& directory) {
  std::random_device random;
  const std::string name = fmt::format("{}{:08x}{:08x}", kBell, random(), random());
  const std::string path = directory + "/" + name;
  const std::string draft = directory + "/draft-" + name;
  if (::mkfifo(draft.c_str(), 0600) != 0) return base::file_error("make the pipe", draft, errno);
  const int own = ::open(draft.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const int error = own >= 0 && ::rename(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (error != 0) {
    if (own >= 0) ::close(own);
    ::unlink(draft.c_str());
    return base::file_error("open the pipe", draft, error);
  }
  Bells bells(directory, name, own);
  bells.ring_all();  // the other boards learn of this bell
  return bells;
}

Bells::~Bells() {
  if (own_ < 0) return;
  ::unlink(path(name_).c_str());
  ::close(own_);
  for (const Other& other : others_) ::close(other.end);
}

/// Rings all bells. This process opens each pipe for reading as well, since a write to a pipe without a reader would
/// kill it by SIGPIPE if the other process ended meanwhile. A pipe that is full takes no byte, and needs none, because
/// its board has not heard the last ring yet.
void Bells::ring_all() const {
  for (const std::string& name : bells_in(directory_)) {
    const int bell = ::open(path(name).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (bell < 0) continue;  // it has gone, or this process has too many files: a pulse is enough
    (void)!::write(bell, "", 1);
    ::close(bell);
  }
}

/// Looks for bells of other boards. A killed process cannot take its bell away, so any board that comes across the bell
/// does.
void Bells::look_for_others() {
  for (std::string& name : bells_in(directory_)) {
    const auto is_it = [&name](const Other& other) { return other.name == name; };
    if (name == name_ || std::any_of(others_.begin(), others_.end(), is_it)) continue;
    const int end = ::open(path(name).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (end >= 0) others_.push_back({std::move(name), end});
    if (end < 0 && errno == ENXIO) ::unlink(path(name).c_str());
  }
}

void Bells::add_to(std::vector<pollfd>& polled) {
  look_for_others();
  polled.push_back({own_, POLLIN, 0});
  for (const Other& other : others_) polled.push_back({other.end, 0, 0});  // POLLERR is shown in any case
}

bool Bells::take(const pollfd* polled) {
  bool something = false;
  std::array<char, 256> rings;
  while (::read(own_, rings.data(), rings.size()) > 0) something = true;
  std::vector<Other> left;
  for (Other& other : others_) {
    const bool ended = (++polled)->revents != 0;
    if (ended) ::close(other.end);
    if (!ended) left.push_back(std::move(other));
    something |= ended;
  }
  others_ = std::move(left);
  return something;
}

}  // namespace granary::membership
