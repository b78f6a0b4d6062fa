#include "bench/store/two_pc/work.h"

namespace granary::bench::two_pc {
namespace {

bool read(Branch& branch, Parts& parts, std::string& answer) {
  std::vector<Wanted> wanted;
  while (parts.more()) wanted.push_back(parts.take<Wanted>());
  return parts.ok() && branch.read(wanted, [&](std::size_t, bool present, std::string_view value) {
    put(answer, static_cast<std::uint8_t>(present));
    put_bytes(answer, value);
  });
}

bool scan(Branch& branch, Parts& parts, std::string& answer) {
  const auto range = parts.take<Range>();
  return parts.ok() && branch.scan(range, [&](std::uint64_t key, std::string_view value) {
    put(answer, key);
    put_bytes(answer, value);
  });
}

std::vector<Write> writes_of(Parts& parts) {
  std::vector<Write> writes;
  while (parts.more()) {
    Write write{.key = parts.take<RowKey>(), .kind = parts.take<Write::Kind>()};
    write.value = parts.take_bytes();
    writes.push_back(std::move(write));
  }
  return writes;
}

bool prepare(Branch& branch, Parts& parts, bool and_commit) {
  std::vector<Write> writes = writes_of(parts);
  if (!parts.ok()) return false;
  return and_commit ? branch.finish(writes) : branch.prepare(writes);
}

}  // namespace

bool do_work(Branch& branch, Kind kind, std::string_view body, std::string& answer) {
  constexpr std::uint8_t kYes = 1, kNo = 0;
  Parts parts(body);
  bool done = true;
  answer.clear();
  put(answer, kYes);
  switch (kind) {
    case Kind::kRead: done = read(branch, parts, answer); break;
    case Kind::kScan: done = scan(branch, parts, answer); break;
    case Kind::kPrepare: done = prepare(branch, parts, false); break;
    case Kind::kFinish: done = prepare(branch, parts, true); break;
    case Kind::kCommit: branch.commit(); break;
    case Kind::kRelease: branch.release(); break;
    case Kind::kPing: break;
    default: return false;
  }
  if (!done) {
    answer.clear();
    put(answer, kNo);
  }
  return parts.ok() && answer.size() <= kMostBytes;
}

std::string body_of_read(std::span<const Wanted> wanted) {
  std::string body;
  for (const Wanted& one : wanted) put(body, one);
  return body;
}

std::string body_of_scan(const Range& range) {
  std::string body;
  put(body, range);
  return body;
}

std::string body_of_writes(std::span<const Write> writes) {
  std::string body;
  for (const Write& write : writes) {
    put(body, write.key);
    put(body, write.kind);
    put_bytes(body, write.value);
  }
  return body;
}

}  // namespace granary::bench::two_pc
