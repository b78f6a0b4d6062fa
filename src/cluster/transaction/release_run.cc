#include "src/cluster/transaction/release_run.h"

#include "src/cluster/transaction/resumption.h"

namespace granary::cluster {

ReleaseRun::ReleaseRun(Footprint& footprint, record::TidWord tid)
    : footprint_(footprint),
      releases_(footprint.trips.batch<Release>(footprint.accesses.size())),
      steps_(footprint.trips.batch<AccessStep*>(footprint.accesses.size())) {
  for (Access& access : footprint.accesses) {
    if (!access.x_locked()) continue;
    Release& release =
        releases_.emplace_back(access.record, access.lock.word, access.lock.state_to_leave, access.lock.release_room);
    if (tid != 0 && access.written()) {
      release.set_version(record::version_word(tid, access.write.removes), access.record.incarnation,
                          access.write.value);
    }
    access.lock.word = record::kFree;
    steps_.push_back(&release);
  }
}

ReleaseRun::~ReleaseRun() {
  if (!chains_) return;
  chains_.reset();
  --footprint_.reach().under_way;
}

void ReleaseRun::run(TripPhase phase) {
  footprint_.trips.run(phase, std::span<AccessStep* const>(steps_));
  for (Release& release : releases_) resume_broken(footprint_, phase, release);
}

void ReleaseRun::send() {
  Reach& reach = footprint_.reach();
  chains_.emplace(reach.scheduler, reach.endpoint);
  ++reach.under_way;
  footprint_.trips.start(std::span<AccessStep* const>(steps_), *chains_);
  reach.endpoint.poll();  // over shared memory the operations have completed by now
}

void ReleaseRun::finish_sent() {
  const bool done = chains_->wait();
  for (Release& release : releases_) {
    if (release.outcome() == AccessOutcome::kOpen && done) (void)release.interpret();
    if (release.outcome() == AccessOutcome::kOpen) release.fail(rdma::fiber::Failure::kBroken);
    if (release.outcome() == AccessOutcome::kBroken) cc::bump(footprint_.reach().counters.unfinished, std::uint64_t{1});
  }
}

void ReleaseRun::move_broken_to(std::deque<Release>& undelivered) {
  for (const Release& release : releases_) {
    if (release.outcome() == AccessOutcome::kBroken) undelivered.push_back(release);
  }
}

bool ReleaseRun::retry(Reach& reach, Release& release) {
  release.resume();
  rdma::fiber::Rounds(reach.scheduler, reach.endpoint, reach.peers, reach.waiter).run(release);
  return release.outcome() != AccessOutcome::kBroken;
}

}  // namespace granary::cluster
