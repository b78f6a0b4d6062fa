#include "htm/open_region.h"

#include <algorithm>

#include "src/base/check.h"

namespace granary::htm {
namespace {

std::size_t index(Cause cause) { return static_cast<std::size_t>(cause); }

/// Whether the region may have aborted because of its body's work. Otherwise it aborted because of other threads, and
/// may succeed the next time.
bool depends_on_body(const Attempt& lost) {
  if (lost.cause == Cause::kExplicit) return lost.verdict.is_final();
  return lost.cause != Cause::kConflict;
}

}  // namespace

void Patience::has_helped(const std::array<std::uint32_t, kCauses>& aborts) {
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    if (aborts[cause] != 0) now_[cause] = std::min(now_[cause] + 1, most_[cause]);
  }
}

void Patience::was_in_vain(Cause cause) {
  now_[index(cause)] /= 2;
  if (++in_vain_ % kForgets != 0) return;
  for (std::size_t other = 0; other < kCauses; ++other) now_[other] = std::min(now_[other] + 1, most_[other]);
}

OpenRegion::OpenRegion(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy)
    : rtm_(support.backend() == Backend::kRtm),
      back_off_(policy, stream, waiter),
      simulator_(support.simulation(), stream),
      patience_(policy) {
  base::always_check(support.backend() != Backend::kOff, "without HTM there are no regions");
}

bool OpenRegion::open(const void* body) {
  const bool goes_on = !rtm_ && lost_;  // the simulation has lost a region, which is tried again
  if (!goes_on && is_hopeless(body)) {
    counters_.count_fallback();
    return false;
  }
  body_ = body;
  return rtm_ ? open_on_hardware() : open_simulated();
}

bool OpenRegion::open_on_hardware() {
  abort_open_on_this_thread();  // or the new region would become a part of it
  for (;;) {
    open_ = true;  // begin_rtm() comes later, so an abort does not take this back
    const Attempt tried = begin_rtm();
    if (tried.committed) {
      open_here_ = this;
      return true;
    }
    open_ = false;
    count(tried);
    lost_ = tried;
    if (!worth_retrying()) break;
    back_off_.wait_after(tried.cause, aborts_[index(tried.cause)]);
  }
  give_up();
  return false;
}

bool OpenRegion::open_simulated() {
  if (lost_ && !worth_retrying()) {
    give_up();
    return false;
  }
  if (lost_) back_off_.wait_after(lost_->cause, aborts_[index(lost_->cause)]);
  lost_.reset();
  simulator_.begin();
  open_ = true;
  return true;
}

void OpenRegion::abort_open_on_this_thread() {
  if (open_here_ != nullptr) abort_rtm(Verdict::give_up(0));
}

void OpenRegion::abort(Verdict verdict) {
  if (rtm_) {
    abort_rtm(verdict);
  } else if (open_) {
    lose({.cause = Cause::kExplicit, .verdict = verdict});
  }
}

bool OpenRegion::close() {
  if (rtm_) {
    open_here_ = nullptr;
    end_rtm();
  } else if (const Attempt tried = simulator_.commit(); !tried.committed) {
    return lose(tried);
  }
  open_ = false;
  counters_.count({.committed = true});
  patience_.has_helped(aborts_);
  if (body_ != nullptr) forecast_.has_committed(body_);
  aborts_ = {};
  return true;
}

void OpenRegion::cancel() {
  lost_.reset();
  aborts_ = {};
  if (!open_) return;
  if (rtm_) {
    open_here_ = nullptr;
    end_rtm();
  }
  open_ = false;
}

bool OpenRegion::worth_retrying() const {
  const bool final = lost_->cause == Cause::kExplicit && lost_->verdict.is_final();
  return !final && aborts_[index(lost_->cause)] <= patience_.retries(lost_->cause);
}

void OpenRegion::give_up() {
  if (lost_) patience_.was_in_vain(lost_->cause);
  if (lost_ && body_ != nullptr && depends_on_body(*lost_)) forecast_.was_in_vain(body_);
  if (rtm_ && lost_ && lost_->cause == Cause::kOther) pages_.region_was_in_vain();
  counters_.count_fallback();
  aborts_ = {};
  lost_.reset();
}

bool OpenRegion::lose(const Attempt& tried) {
  open_ = false;
  count(tried);
  lost_ = tried;
  return false;
}

void OpenRegion::count(const Attempt& tried) {
  counters_.count(tried);
  ++aborts_[index(tried.cause)];
}

}  // namespace granary::htm
