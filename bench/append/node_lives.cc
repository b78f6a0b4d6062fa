#include "bench/append/node_lives.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace granary::bench::append {
namespace {

std::string part(const std::string& file, std::uint64_t life) {
  return life == 0 ? file : fmt::format("{}.life-{}", file, life + 1);
}

}  // namespace

Result<std::unique_ptr<NodeLives>> NodeLives::begin(const std::string& file, std::size_t slots) {
  const std::string path = file + ".lives";
  const std::size_t bytes = (slots + 1) * sizeof(std::uint64_t);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  const bool sized = descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
  void* const words = sized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (words != MAP_FAILED) return std::unique_ptr<NodeLives>(new NodeLives(file, words, slots));
  return Status(StatusCode::kUnavailable, fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

NodeLives::NodeLives(std::string file, void* words, std::size_t slots)
    : file_(std::move(file)),
      words_(static_cast<std::atomic<std::uint64_t>*>(words)),
      slots_(slots),
      earlier_(words_->fetch_add(1, std::memory_order_relaxed)) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the words are in a file");
}

NodeLives::~NodeLives() { ::munmap(words_, (slots_ + 1) * sizeof(std::uint64_t)); }

std::span<std::atomic<std::uint64_t>> NodeLives::counts() const { return {words_ + 1, slots_}; }

std::string NodeLives::history() const { return part(file_, earlier_); }

std::vector<std::string> NodeLives::histories(const std::string& file) {
  std::vector<std::string> parts;
  std::error_code ignored;
  for (std::uint64_t life = 0; std::filesystem::exists(part(file, life), ignored); ++life)
    parts.push_back(part(file, life));
  return parts;
}

}  // namespace granary::bench::append
