#include "src/cli/printing/line_printer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/threads.h"

namespace granary::cli {
namespace {

/// Writes the line. If that fails, the line is lost, as nobody can be told.
void write_line(int descriptor, std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(descriptor, line.data(), line.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

struct LinePrinter::Queue {
  struct Line {
    int descriptor;
    std::string text;
  };
  void write_all();

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<Line> lines;  ///< the front is being written
  std::size_t dropped = 0;
  bool ended = false;
  bool has_thread = true;
};

/// Writes the lines one by one. A line leaves the queue when it has been written, so an empty queue means that all is
/// out.
void LinePrinter::Queue::write_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ended || !lines.empty(); });
    if (lines.empty()) return;
    const Line line = lines.front();
    lock.unlock();
    write_line(line.descriptor, line.text);
    lock.lock();
    lines.pop_front();
    if (lines.empty() && dropped != 0) {
      lines.push_back({STDERR_FILENO, fmt::format("granary: {} lines were dropped, as nobody read them\n",
                                                  std::exchange(dropped, 0))});
    }
    changed.notify_all();
  }
}

LinePrinter::LinePrinter() : queue_(std::make_shared<Queue>()) {
  try {
    std::thread([queue = queue_] {
      base::name_thread("gr-printer");
      queue->write_all();
    }).detach();
  } catch (const std::system_error&) {  // the system refuses a thread, so print() writes each line itself
    queue_->has_thread = false;
  }
}

LinePrinter::~LinePrinter() {
  flush();
  const std::lock_guard lock(queue_->mutex);
  queue_->ended = true;
  queue_->changed.notify_all();
}

void LinePrinter::flush() const {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return queue_->lines.empty(); });
}

void LinePrinter::print(int descriptor, std::string line) const {
  const std::lock_guard lock(queue_->mutex);
  if (!queue_->has_thread) return write_line(descriptor, line);
  if (queue_->lines.size() >= kMost) {
    ++queue_->dropped;
    return;
  }
  queue_->lines.push_back({descriptor, std::move(line)});
  queue_->changed.notify_all();
}

}  // namespace granary::cli
