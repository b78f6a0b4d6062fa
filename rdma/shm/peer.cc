#include "rdma/shm/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "rdma/shm/watched_memory.h"

namespace granary::rdma::shm {
namespace {

/// Whether the file has that many bytes and can never have fewer. Otherwise touching it could end this process.
bool holds(int file, std::uint64_t bytes) {
  struct stat status {};
  const int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(file, &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) >= bytes;
}

void* map_file(int file, std::uint64_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
}

}  // namespace

Peer::Peer(NodeId node, Generation generation, Process process, Descriptor socket, base::lines::Holder self)
    : regions_(node, generation),
      self_(self),
      socket_(std::move(socket)),
      process_(std::make_shared<const Process>(std::move(process))) {}

Result<std::shared_ptr<Peer>> Peer::map(ReceivedHello received, Descriptor socket, base::lines::Holder self) {
  const Hello& hello = received.hello;
  Result<Process> process = Process::at_other_end(socket.get(), std::move(received.process));
  if (!process.ok()) {
    say_farewell(socket.get());
    return process.status();
  }
  std::shared_ptr<Peer> peer(
      new Peer(hello.node, hello.generation, std::move(process).value(), std::move(socket), self));
  for (std::size_t i = 0; i < received.files.size(); ++i) {
    const Hello::Region& region = hello.regions[i];
    const int file = received.files[i].get();
    const bool lines = base::kTestHooks && region.id == kLineTable;
    const Status mapped = lines ? peer->map_line_table(region, file) : peer->map_region(region, file);
    if (!mapped.ok()) return mapped;
  }
  if (Status status = peer->find_own_region(); !status.ok()) return status;
  return peer;
}

Status Peer::map_region(const Hello::Region& region, int file) {
  if (!holds(file, region.bytes)) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("region {} of {} is smaller than it says, or may shrink", region.id, name()));
  }
  void* base = map_file(file, region.bytes);
  if (base == MAP_FAILED) {
    return system_error(StatusCode::kResourceExhausted,
                        fmt::format("map the {} MiB of region {} of {}", region.bytes >> 20, region.id, name()));
  }
  regions_.add(region.id, region.bytes);
  bases_.push_back(static_cast<char*>(base));
  addresses_.push_back(region.unpack_address());
  return {};
}

Status Peer::map_line_table(const Hello::Region& table, int file) {
  if (lines_ != nullptr || table.bytes != sizeof *lines_ || !holds(file, table.bytes)) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("the line table of {} is not of this build; run the same Granary on both", name()));
  }
  void* base = map_file(file, table.bytes);
  if (base == MAP_FAILED)
    return system_error(StatusCode::kResourceExhausted, fmt::format("map the line table of {}", name()));
  lines_ = static_cast<base::lines::Table*>(base);
  return {};
}

Status Peer::find_own_region() {
  const int place = regions_.find(kOwnRegion);
  if (place < 0 || regions_[static_cast<std::size_t>(place)].bytes < OwnBells::kBytes) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("{} has no bells", name()));
  }
  own_region_ = bases_[static_cast<std::size_t>(place)];
  return {};
}

Peer::~Peer() {
  for (std::size_t i = 0; i < bases_.size(); ++i) ::munmap(bases_[i], regions_[i].bytes);
  if (lines_ != nullptr) ::munmap(lines_, sizeof *lines_);
  say_farewell(socket_.get());
}

std::string Peer::name() const { return fmt::format("node {} (process {})", regions_.node(), process_->number()); }

}  // namespace granary::rdma::shm
