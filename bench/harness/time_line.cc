#include "bench/harness/time_line.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "src/base/tsc_clock.h"

namespace granary::bench {

namespace {

constexpr std::uint64_t kMagic = 0x656e696c656d6974;  // "timeline"
constexpr std::size_t kHeadBytes = 4096;

Status failed(const char* what) {
  return {StatusCode::kUnavailable, fmt::format("memory for the time line: {}: {}", what, std::strerror(errno))};
}

void add_one(std::atomic<std::uint32_t>& counter, std::uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more), std::memory_order_relaxed);
}

}  // namespace

WorkerTrack::WorkerTrack(TimeLine& line, std::uint32_t node, std::uint32_t worker)
    : line_(line),
      ticks_(line.ticks(node) + worker * line.shape().ticks),
      victim_used_ns_(line.part(node).victim_used_ns[worker]) {}

void WorkerTrack::note(std::uint64_t now_ns, bool done, std::uint64_t others, std::uint64_t aborted) {
  const std::uint64_t begins = line_.begins_ns();
  if (begins == 0 || now_ns < begins) return;
  const std::uint64_t at = (now_ns - begins) / kTickNs;
  if (at >= line_.shape().ticks) return;
  Tick& tick = ticks_[at];
  const bool needs_victim = (others & line_.victim_bit()) != 0;
  const TickCount how = !done          ? TickCount::kGaveUp
                        : needs_victim ? TickCount::kVictim
                        : others != 0  ? TickCount::kElsewhere
                                       : TickCount::kHere;
  add_one(tick[static_cast<std::size_t>(how)], 1);
  if (aborted != 0) add_one(tick[static_cast<std::size_t>(TickCount::kAborted)], aborted);
  if (how != TickCount::kVictim || victim_used_ns_.load(std::memory_order_relaxed) != 0) return;
  if (line_.restarted_ns() != 0) victim_used_ns_.store(now_ns, std::memory_order_relaxed);
}

std::size_t TimeLine::bytes_of(const TimeLineShape& shape) {
  const std::size_t each_tick = sizeof(Tick) * shape.workers + sizeof(std::uint64_t);
  return kHeadBytes + shape.nodes * (sizeof(NodePart) + shape.ticks * each_tick);
}

TimeLine::NodePart& TimeLine::part(std::uint32_t node) const {
  return reinterpret_cast<NodePart*>(memory_ + kHeadBytes)[node];
}

std::atomic<std::uint64_t>* TimeLine::releases(std::uint32_t node) const {
  char* const behind_parts = reinterpret_cast<char*>(&part(shape().nodes));
  return reinterpret_cast<std::atomic<std::uint64_t>*>(behind_parts) + node * shape().ticks;
}

Tick* TimeLine::ticks(std::uint32_t node) const {
  return reinterpret_cast<Tick*>(releases(shape().nodes)) + node * shape().ticks * shape().workers;
}

Result<std::unique_ptr<TimeLine>> TimeLine::map(int descriptor, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return failed("mmap");
  return std::unique_ptr<TimeLine>(new TimeLine(descriptor, static_cast<char*>(memory), bytes));
}

Result<std::unique_ptr<TimeLine>> TimeLine::make(const TimeLineShape& shape) {
  const int made = memfd_create("granary-time-line", MFD_CLOEXEC);
  if (made < 0) return failed("memfd_create");
  // The descriptor must be greater than those at which a node finds what it inherits, which are overwritten in the new
  // process one after another.
  const int descriptor = fcntl(made, F_DUPFD_CLOEXEC, kTimeLineDescriptor + 1);
  close(made);
  if (descriptor < 0) return failed("fcntl");
  const std::size_t bytes = bytes_of(shape);
  auto line = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? map(descriptor, bytes)
                                                                    : Result<std::unique_ptr<TimeLine>>(failed("size"));
  if (!line.ok()) {
    close(descriptor);
    return line;
  }
  // All other memory is zero, which is the initial value of its types.
  new ((*line)->memory_) Head{.magic = kMagic, .shape = shape};
  return line;
}

Result<std::unique_ptr<TimeLine>> TimeLine::at(int descriptor) {
  const Status none(StatusCode::kInvalidArgument, "there is no time line; --kill is for 'granary cluster run'");
  struct stat file {};
  if (fstat(descriptor, &file) != 0 || static_cast<std::size_t>(file.st_size) < kHeadBytes) return none;
  auto line = map(descriptor, static_cast<std::size_t>(file.st_size));
  if (!line.ok() || (*line)->head().magic != kMagic) return none;
  if (bytes_of((*line)->shape()) != (*line)->bytes_) return none;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return line;
}

Result<std::unique_ptr<TimeLine>> TimeLine::in_file(const std::string& path, const TimeLineShape& shape) {
  const auto refused = [&](std::string_view why) {
    return Status(StatusCode::kUnavailable, fmt::format("the account '{}': {}", path, why));
  };
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return refused(std::strerror(errno));
  struct stat file {};
  Status usable;
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    usable = refused("another process has it");
  } else if (fstat(descriptor, &file) != 0) {
    usable = refused(std::strerror(errno));
  }
  const std::size_t bytes = bytes_of(shape);
  const bool is_new = usable.ok() && file.st_size == 0;
  if (is_new && ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) usable = refused(std::strerror(errno));
  if (usable.ok() && !is_new && static_cast<std::size_t>(file.st_size) != bytes)
    usable = {StatusCode::kFailedPrecondition, fmt::format("the account '{}' is of a run with other flags", path)};
  auto line = usable.ok() ? map(descriptor, bytes) : Result<std::unique_ptr<TimeLine>>(usable);
  if (!line.ok()) {
    close(descriptor);
    return line;
  }
  (*line)->path_ = path;
  if (is_new) {
    new ((*line)->memory_) Head{.magic = kMagic, .shape = shape};
    return line;
  }
  if (const Status taken = (*line)->take_over(shape); !taken.ok())
    return Status(taken.code(), fmt::format("the account '{}' {}", path, taken.message()));
  return line;
}

/// Takes over the memory that a former life has left. The error says what is wrong with the file.
Status TimeLine::take_over(const TimeLineShape& shape) {
  if (head().magic != kMagic || !(this->shape() == shape))
    return {StatusCode::kFailedPrecondition, "is of a run with other flags"};
  if (begins_ns() == 0) {
    return {StatusCode::kFailedPrecondition,
            "is of a life that was killed before its requests were measured: end all nodes, remove it and their data, "
            "and start anew"};
  }
  if (restarted_ns() != 0) {
    return {StatusCode::kFailedPrecondition,
            "is of a node that was started again once before; it tells only what one killed life has done"};
  }
  note_restart(base::monotonic_ns());
  return {};
}

void TimeLine::remove_file() {
  if (!path_.empty()) unlink(path_.c_str());
}

TimeLine::~TimeLine() {
  munmap(memory_, bytes_);
  close(descriptor_);
}

void TimeLine::note_released(std::uint32_t node, std::uint64_t now_ns) {
  const std::uint64_t begins = begins_ns();
  if (begins == 0 || now_ns < begins || (now_ns - begins) / kTickNs >= shape().ticks) return;
  std::atomic<std::uint64_t>& first = releases(node)[(now_ns - begins) / kTickNs];
  if (first.load(std::memory_order_relaxed) == 0) first.store(now_ns, std::memory_order_relaxed);
}

std::uint64_t TimeLine::released_ns(std::uint32_t node, std::uint64_t tick) const {
  return releases(node)[tick].load(std::memory_order_relaxed);
}

std::uint64_t TimeLine::victim_used_ns(std::uint32_t node) const {
  std::uint64_t first = 0;
  for (const auto& worker : part(node).victim_used_ns) {
    const std::uint64_t used = worker.load(std::memory_order_relaxed);
    if (used != 0 && (first == 0 || used < first)) first = used;
  }
  return first;
}

std::uint64_t TimeLine::count(std::uint32_t node, std::uint64_t tick, TickCount what) const {
  std::uint64_t sum = 0;
  for (std::uint32_t worker = 0; worker < shape().workers; ++worker) {
    const Tick& counts = ticks(node)[worker * shape().ticks + tick];
    sum += counts[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  return sum;
}

LifeAccount& TimeLine::account(std::uint32_t node) { return part(node).lives[returned(node) ? 1 : 0]; }

}  // namespace granary::bench
