#include "bench/remote/owner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "bench/fabric/bench_provider.h"
#include "bench/harness/early_end.h"

namespace granary::bench::remote {
namespace {

static_assert(std::is_trivially_copyable_v<Tables>);

/// A pipe, whose ends are closed with it unless they were closed or taken before.
class Pipe {
 public:
  enum End : std::uint8_t { kReads, kWrites };

  Pipe() = default;
  ~Pipe() {
    close(kReads);
    close(kWrites);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() { return ::pipe2(ends_, O_CLOEXEC) == 0; }
  int get(End end) const { return ends_[end]; }
  int take(End end) { return std::exchange(ends_[end], -1); }
  void close(End end) {
    if (const int taken = take(end); taken >= 0) ::close(taken);
  }

 private:
  int ends_[2] = {-1, -1};
};

/// A node that offers its tables.
struct Owner {
  std::unique_ptr<OwnedTable> owned;
  std::unique_ptr<rdma::Fabric> fabric;

  Status start(cluster_config::Provider provider, const Data& data, const std::string& run_directory) {
    auto made = OwnedTable::make(data);
    if (!made.ok()) return made.status();
    owned = std::move(made).value();
    auto opened = bench::fabric::open_bench_fabric(provider, kOwner, run_directory);
    if (!opened.ok()) return opened.status();
    fabric = std::move(opened).value();
    if (Status status = fabric->register_region({.id = kTableRegion}, owned->region()); !status.ok()) return status;
    return fabric->listen();
  }
};

/// Runs the owner in the child process. It sends to `answer` where the tables are, or an error, which differs from that
/// in its size, and stays until `hold` is closed.
[[noreturn]] void be_owner(cluster_config::Provider provider, const Data& data, const std::string& run_directory,
                           int answer, int hold) {
  leave_signals_to_parent();
  Owner owner;
  const Status status = owner.start(provider, data, run_directory);
  const Tables tables = status.ok() ? owner.owned->tables() : Tables{};
  const void* const said = status.ok() ? static_cast<const void*>(&tables) : status.message().data();
  const std::size_t bytes = status.ok() ? sizeof tables : std::min(status.message().size(), sizeof tables - 1);
  char byte = 0;
  if (::write(answer, said, bytes) == static_cast<ssize_t>(bytes)) (void)!::read(hold, &byte, 1);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<OwnerProcess>> OwnerProcess::start(cluster_config::Provider provider, const Data& data,
                                                          const std::string& run_directory) {
  Pipe answer, hold;
  if (!answer.open() || !hold.open())
    return Status(StatusCode::kUnavailable, "no pipe for the owner's process: too many open files");
  const pid_t process = ::fork();
  if (process == 0) {
    answer.close(Pipe::kReads);
    hold.close(Pipe::kWrites);
    be_owner(provider, data, run_directory, answer.get(Pipe::kWrites), hold.get(Pipe::kReads));
  }
  if (process < 0) return Status(StatusCode::kUnavailable, "cannot start the owner's process");
  answer.close(Pipe::kWrites);
  std::unique_ptr<OwnerProcess> owner(new OwnerProcess);
  owner->process_ = process;
  owner->hold_ = hold.take(Pipe::kWrites);
  char said[sizeof(Tables)] = {};
  const ssize_t bytes = ::read(answer.get(Pipe::kReads), said, sizeof said);
  if (bytes != sizeof said) {
    return Status(StatusCode::kUnavailable,
                  "the owner's process: " + std::string(said, bytes < 0 ? 0 : static_cast<std::size_t>(bytes)));
  }
  std::memcpy(&owner->tables_, said, sizeof said);
  return owner;
}

OwnerProcess::~OwnerProcess() {
  ::close(hold_);
  (void)::waitpid(process_, nullptr, 0);
}

}  // namespace granary::bench::remote
