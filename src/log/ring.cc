#include "src/log/ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "src/base/allocate.h"
#include "src/base/crc32c.h"
#include "src/base/descriptor.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/base/with_memory.h"

namespace granary::log {
namespace {

constexpr std::size_t kPage = 4096;
static_assert(sizeof(RingHeader) <= kPage);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// The parts of a ring's file that follow its header.
struct Shape {
  std::uint64_t capacity = 0;  ///< 0: no ring has a file of this size
  std::uint64_t lock_slots = 0;

  static Shape of_new(std::uint64_t capacity, std::uint32_t version) {
    return {capacity, has_lock_ahead(version) ? log::lock_slots(capacity) : 0};
  }
  /// Returns the shape of a file of `bytes`. There is at most one: a power of two plus 136 KiB, or times 1 + 544/4096,
  /// is never another power of two.
  static Shape of_file(std::uint64_t bytes) {
    for (std::uint64_t capacity = kPage; kPage + capacity <= bytes; capacity *= 2) {
      for (const Shape shape : {Shape{capacity, 0}, Shape{capacity, log::lock_slots(capacity)}}) {
        if (shape.file_bytes() == bytes) return shape;
      }
    }
    return {};
  }
  std::uint64_t lock_bytes() const { return lock_slots == 0 ? 0 : lock_area_bytes(capacity); }
  std::uint64_t file_bytes() const { return kPage + capacity + lock_bytes(); }
};

Status failed(const char* operation, const std::string& path) {
  const int error = errno;
  const StatusCode code = error == ENOSPC || error == ENOMEM ? StatusCode::kDiskFull
                          : error == ENOENT                  ? StatusCode::kNotFound
                          : error == EEXIST                  ? StatusCode::kAlreadyExists
                                                             : StatusCode::kIoError;
  return {code, fmt::format("cannot {} the log ring '{}': {}", operation, path, std::strerror(error))};
}

/// Opens a former process's ring, for writing if that is allowed, and else only for reading, since it may lie on a
/// read-only file system.
int open_left(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor < 0 && (errno == EROFS || errno == EACCES) ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC)
                                                               : descriptor;
}

/// Removes the file at its beginning and at its end, also when an exception ends it.
struct AsideFile {
  explicit AsideFile(std::string name) : path(std::move(name)) { ::unlink(path.c_str()); }
  ~AsideFile() { ::unlink(path.c_str()); }
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;
  const std::string path;
};

}  // namespace

std::string ring_name(std::uint32_t worker) { return fmt::format("ring-{:04}", worker); }

std::uint32_t RingHeader::compute_crc() const { return base::crc32c(0, this, offsetof(RingHeader, crc)); }

Result<std::unique_ptr<Ring>> Ring::map(int descriptor, const std::string& path, std::uint64_t capacity,
                                        std::uint64_t lock_slots) {
  // Reserves room for the header and twice the data, then maps the file over it: all pages up to the end of the data,
  // and once more all pages after the header.
  const Shape shape{capacity, lock_slots};
  const std::size_t bytes = capacity + shape.file_bytes();
  void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return failed("map", path);
  auto* const base = static_cast<char*>(room);
  constexpr int kFlags = MAP_SHARED | MAP_FIXED;
  const bool writable = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDWR;
  const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  const bool mapped =
      ::mmap(base, kPage + capacity, access, kFlags, descriptor, 0) != MAP_FAILED &&
      ::mmap(base + kPage + capacity, capacity + shape.lock_bytes(), access, kFlags, descriptor, kPage) != MAP_FAILED;
  if (!mapped) {
    const Status status = failed("map", path);
    ::munmap(room, bytes);
    return status;
  }
  std::unique_ptr<Ring> ring(new (std::nothrow)
                                 Ring(reinterpret_cast<RingHeader*>(base), base + kPage, capacity, lock_slots));
  if (ring != nullptr) return ring;
  ::munmap(room, bytes);
  return base::no_memory();
}

Result<std::unique_ptr<Ring>> Ring::create(const std::string& path, const Identity& identity, std::uint64_t capacity) {
  // The ring is made under another name and linked when it is whole. So a process that dies meanwhile leaves no ring
  // rather than a damaged one.
  const AsideFile aside{path + ".new"};
  auto ring = create_aside(aside.path, path, identity, std::bit_ceil(capacity < kPage ? kPage : capacity));
  base::sync_point("ring.made_aside");
  if (ring.ok() && ::link(aside.path.c_str(), path.c_str()) != 0) ring = failed("create", path);
  base::sync_point("ring.linked");
  return ring;
}

Result<std::unique_ptr<Ring>> Ring::create_aside(const std::string& aside, const std::string& path,
                                                 const Identity& identity, std::uint64_t capacity) {
  const base::Descriptor file(::open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, base::kNewFileMode));
  if (!file.open()) return failed("create", path);
  // The file is allocated, not only extended: otherwise a later write into a full tmpfs would kill the process, where
  // this call fails.
  const Shape shape = Shape::of_new(capacity, identity.version);
  if (const int error = base::allocate(file.get(), shape.file_bytes()); error != 0) {
    errno = error;
    return failed("allocate", path);
  }
  auto ring = map(file.get(), path, capacity, shape.lock_slots);
  if (!ring.ok()) return ring;
  RingHeader* const header = new ((*ring)->header_) RingHeader;
  header->version = identity.version;
  header->database = identity.database;
  header->generation = identity.generation;
  header->stamp = identity.stamp;
  header->worker = identity.worker;
  header->logger = identity.logger;
  header->capacity = capacity;
  header->crc = header->compute_crc();
  return ring;
}

Result<std::unique_ptr<Ring>> Ring::open(const std::string& path, const DatabaseId& database) {
  const base::Descriptor file(open_left(path));
  if (!file.open()) return failed("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed("look at", path);
  const auto damaged = [&](std::string_view why) {
    return Status(StatusCode::kDamaged, fmt::format("'{}' is no log ring of this database: {}", path, why));
  };
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const Shape shape = Shape::of_file(bytes);
  if (shape.capacity == 0) return damaged(fmt::format("it has {} bytes", bytes));
  auto ring = map(file.get(), path, shape.capacity, shape.lock_slots);
  if (!ring.ok()) return ring;
  const RingHeader& header = (*ring)->header();
  if (header.magic != RingHeader::kMagic) return damaged("it does not begin as one");
  if (!is_ring_version(header.version))
    return damaged(fmt::format("it has format version {}, expected {} or {}, or {} or {} of former releases",
                               header.version, kFormatVersion, kClusterFormatVersion, kFormerVersion,
                               kFormerClusterRingVersion));
  if (header.crc != header.compute_crc()) return damaged("its header's checksum is wrong");
  if (header.database != database) return damaged("it belongs to another database");
  const std::uint64_t head = header.head.load(std::memory_order_relaxed);
  const std::uint64_t tail = header.tail.load(std::memory_order_relaxed);
  if (header.capacity != shape.capacity || head > tail || tail - head > header.capacity)
    return damaged(fmt::format("head {}, tail {} and capacity {} do not fit", head, tail, header.capacity));
  if (Shape::of_new(shape.capacity, header.version).file_bytes() != bytes)
    return damaged(fmt::format("{} bytes do not fit format version {}", bytes, header.version));
  (*ring)->drained_ = head;
  return ring;
}

std::string_view Ring::lock_area() const {
  return {data_ + 2 * capacity_, Shape{capacity_, lock_ahead_.slots()}.lock_bytes()};
}

Ring::~Ring() { ::munmap(header_, kPage + 2 * capacity_ + lock_area().size()); }

}  // namespace granary::log
