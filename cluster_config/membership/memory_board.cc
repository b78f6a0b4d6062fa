#include "cluster_config/membership/memory_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace granary::membership {

void MemoryPlace::change() {
  ++changes_;
  changed_.notify_all();
}

void MemoryPlace::remove_mark(NodeId id) {
  const std::lock_guard lock(mutex_);
  marks_.erase(id);
  change();
}

void MemoryPlace::wipe() {
  const std::lock_guard lock(mutex_);
  marks_.clear();
  document_ = {};
  change();
}

void MemoryPlace::set_reachable(bool reachable) {
  const std::lock_guard lock(mutex_);
  reachable_ = reachable;
  change();
}

void MemoryPlace::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

void MemoryPlace::set_before_replace(std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  before_replace_ = std::move(act);
}

void MemoryPlace::set_valid_until(std::uint64_t time_us) {
  const std::lock_guard lock(mutex_);
  valid_until_us_ = time_us;
  change();
}

void MemoryPlace::set_fence_lasts(std::uint64_t time_us) {
  const std::lock_guard lock(mutex_);
  fence_lasts_us_ = time_us;
  change();
}

MemoryBoard::~MemoryBoard() {
  const std::lock_guard lock(place_->mutex_);
  if (!has_own_mark()) return;
  place_->marks_.erase(id_);
  place_->change();
}

Status MemoryBoard::unreachable() const {
  if (place_->reachable_) return {};
  return Status(StatusCode::kUnavailable, name() + " cannot be reached");
}

bool MemoryBoard::has_own_mark() const {
  const auto found = place_->marks_.find(id_);
  return marked_ && found != place_->marks_.end() && found->second.owner == this;
}

Status MemoryBoard::mark(NodeId id, const std::string& who) {
  const std::lock_guard lock(place_->mutex_);
  if (Status status = unreachable(); !status.ok()) return status;
  const auto [mark, made] = place_->marks_.try_emplace(id, MemoryPlace::Mark{this, who});
  if (!made) {
    return Status(StatusCode::kAlreadyExists, fmt::format("node {} is a member already: {}", id, mark->second.who));
  }
  marked_ = true;
  id_ = id;
  place_->change();
  return {};
}

Status MemoryBoard::unmark() {
  const std::lock_guard lock(place_->mutex_);
  if (Status status = unreachable(); !status.ok()) return status;
  if (has_own_mark()) place_->marks_.erase(id_);
  marked_ = false;
  place_->change();
  return {};
}

Result<Marks> MemoryBoard::marks() {
  const std::lock_guard lock(place_->mutex_);
  if (Status status = unreachable(); !status.ok()) return status;
  if (marked_ && !has_own_mark()) return Status(StatusCode::kMembershipLost, "its mark is gone from " + name());
  Marks marks{.nodes = {}, .own_valid_until_us = place_->valid_until_us_};
  for (const auto& [id, mark] : place_->marks_) marks.nodes.push_back(id);
  return marks;
}

Result<Document> MemoryBoard::read() {
  const std::lock_guard lock(place_->mutex_);
  if (Status status = unreachable(); !status.ok()) return status;
  if (place_->document_.version == 0) return Status(StatusCode::kNotFound, name() + " is empty");
  return place_->document_;
}

Result<bool> MemoryBoard::replace(std::uint64_t version, const std::string& text) {
  std::unique_lock lock(place_->mutex_);
  if (const std::function<void()> act = place_->before_replace_) {
    lock.unlock();
    act();
    lock.lock();
  }
  if (Status status = unreachable(); !status.ok()) return status;
  if (place_->full_) return Status(StatusCode::kDiskFull, name() + " is full");
  if (place_->document_.version != version) return false;
  place_->document_ = {version + 1, text};
  place_->change();
  return true;
}

std::uint64_t MemoryBoard::fence_lasts_us() const {
  const std::lock_guard lock(place_->mutex_);
  return place_->fence_lasts_us_;
}

void MemoryBoard::wait(std::uint64_t timeout_us) {
  std::unique_lock lock(place_->mutex_);
  const auto time = std::chrono::microseconds(std::min(timeout_us, pulse_us()));
  place_->changed_.wait_for(lock, time, [this] { return woken_ || place_->changes_ != seen_changes_; });
  woken_ = false;
  seen_changes_ = place_->changes_;
}

void MemoryBoard::wake() {
  const std::lock_guard lock(place_->mutex_);
  woken_ = true;
  place_->changed_.notify_all();
}

}  // namespace granary::membership
