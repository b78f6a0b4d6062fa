// Implements the device and the directory behind FaultFiles, and makes the images that a crash leaves of them.

#include "tests/support/fault_disk.h"

#include <algorithm>
#include <unordered_map>

#include "src/base/random.h"

namespace granary::tests {

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool Inode::readable(std::uint64_t begin, std::uint64_t end) const {
  return std::none_of(unreadable.begin(), unreadable.end(),
                      [&](std::uint64_t block) { return block < end && begin < block + base::kDirectBlock; });
}

void Inode::write(std::size_t at, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t end = at + bytes.size();
  if (cache.size() < end) cache.resize(end, '\0');
  std::copy(bytes.begin(), bytes.end(), cache.begin() + static_cast<std::ptrdiff_t>(at));
  dirty.resize((cache.size() + kSector - 1) / kSector, false);
  std::fill(dirty.begin() + static_cast<std::ptrdiff_t>(at / kSector),
            dirty.begin() + static_cast<std::ptrdiff_t>((end + kSector - 1) / kSector), true);
}

void Inode::write_back(std::size_t sector) {
  const std::size_t from = sector * kSector;
  const std::size_t to = std::min(from + kSector, cache.size());
  if (device.size() < to) device.resize(to, '\0');
  std::copy(cache.begin() + static_cast<std::ptrdiff_t>(from), cache.begin() + static_cast<std::ptrdiff_t>(to),
            device.begin() + static_cast<std::ptrdiff_t>(from));
}

void Inode::sync() {
  for (std::size_t sector = 0; sector < dirty.size(); ++sector) {
    if (dirty[sector]) write_back(sector);
  }
  device.resize(cache.size(), '\0');
  lose_dirty_pages();
}

void Inode::become(std::string bytes) {
  cache = bytes;
  device = std::move(bytes);
  dirty.assign((cache.size() + kSector - 1) / kSector, false);
}

void NameChange::apply(Names& names) const {
  if (!removed.empty()) {
    const auto at = names.find(removed);
    if (at != names.end() && at->second == inode) names.erase(at);
  }
  if (!added.empty()) names[added] = inode;
}

bool FaultFiles::Disk::passes_through(const std::string& path) const {
  const std::lock_guard lock(mutex);
  return std::any_of(passed_through.begin(), passed_through.end(),
                     [&](const std::string& prefix) { return path.starts_with(prefix); });
}

std::optional<Fault> FaultFiles::Disk::begin(FileCall call, const std::string& path,
                                             std::unique_lock<std::mutex>& lock) {
  lock = std::unique_lock(mutex);
  if (observer) {
    const Observer tell = observer;
    lock.unlock();
    tell(call, path);
    lock.lock();
  }
  ++calls[static_cast<std::size_t>(call)];
  std::optional<Fault> due;
  for (PlannedFault& planned : faults) {
    const Fault& fault = planned.fault;
    if (fault.call != call || path.find(fault.path) == std::string::npos) continue;
    const std::uint64_t match = planned.matches++;
    if (match == fault.nth || (fault.from_then_on && match > fault.nth)) due = fault;
  }
  if (due) ++faults_hit;
  return due;
}

void FaultFiles::Disk::change_names(NameChange change) {
  change.apply(names);
  changes.push_back(std::move(change));
}

void FaultFiles::Disk::become_durable() {
  for (const auto& [path, inode] : names) inode->become(inode->cache);
  durable_names = names;
  changes.clear();
}

/// Returns a copy that shares nothing with this disk. It lacks files that only open files reach.
std::shared_ptr<FaultFiles::Disk> FaultFiles::Disk::deep_copy() const {
  const std::lock_guard lock(mutex);
  auto copy = std::make_shared<Disk>();
  std::unordered_map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copied = [&](const std::shared_ptr<Inode>& inode) {
    auto& made = copies[inode.get()];
    if (made == nullptr) {
      made = std::make_shared<Inode>(*inode);
      made->locked = false;
    }
    return made;
  };
  for (const auto& [path, inode] : names) copy->names[path] = copied(inode);
  for (const auto& [path, inode] : durable_names) copy->durable_names[path] = copied(inode);
  for (const NameChange& change : changes) {
    copy->changes.push_back({change.directory, change.removed, change.added, copied(change.inode)});
  }
  copy->directories = directories;
  copy->used = used;
  copy->passed_through = passed_through;
  return copy;
}

namespace {

/// A random way in which a crash may treat sectors and names that were not synced. It is drawn once for each image, so
/// that images differ in kind and not only in detail: nearly all kept, nearly all lost, half, or only the first ones.
struct Fate {
  explicit Fate(std::uint64_t seed) : random(seed) {
    constexpr std::array<double, 4> kChances = {0.03, 0.5, 0.5, 0.97};
    keep_sector = kChances[random.below(kChances.size())];
    keep_name = kChances[random.below(kChances.size())];
    in_order = random.chance(0.3);
  }
  base::Random random;
  double keep_sector = 0;
  double keep_name = 0;
  bool in_order = false;
};

std::string left_of(Inode& inode, Fate& fate) {
  const std::string before = inode.device;
  bool keep = true;
  for (std::size_t sector = 0; sector < inode.dirty.size(); ++sector) {
    if (!inode.dirty[sector]) continue;
    keep = fate.in_order ? keep && fate.random.chance(0.9) : fate.random.chance(fate.keep_sector);
    if (keep) inode.write_back(sector);
  }
  // The file's length is written apart from its bytes. It may be anything from the end of the last sector that was kept
  // to the end of all that was appended.
  const std::size_t room = inode.cache.size() - std::min(inode.cache.size(), inode.device.size());
  const std::uint64_t kind = fate.random.below(4);
  if (kind == 0) inode.device.resize(inode.device.size() + room, '\0');
  if (kind == 1) inode.device.resize(inode.device.size() + fate.random.below(room + 1), '\0');
  return inode.device;
}

}  // namespace

std::unique_ptr<FaultFiles> FaultFiles::power_loss_image(Survives survives, std::uint64_t seed) const {
  const std::shared_ptr<Disk> image = disk_->deep_copy();
  Fate fate(seed);
  Names names = image->durable_names;
  for (const NameChange& change : image->changes) {
    if (survives == Survives::kAll || (survives == Survives::kRandom && fate.random.chance(fate.keep_name)))
      change.apply(names);
  }
  image->names = std::move(names);
  image->used = 0;
  for (auto& [path, inode] : image->names) {
    if (survives == Survives::kAll) inode->sync();
    inode->become(survives == Survives::kRandom ? left_of(*inode, fate) : inode->device);
    image->used += inode->cache.size();
    image->directories.insert(parent_of(path));  // it may have been removed after the file, whose removal is lost
  }
  image->become_durable();
  return std::unique_ptr<FaultFiles>(new FaultFiles(image));
}

std::unique_ptr<FaultFiles> FaultFiles::process_crash_image() const {
  return std::unique_ptr<FaultFiles>(new FaultFiles(disk_->deep_copy()));
}

}  // namespace granary::tests
