#include <granary/chain_log.h>

#include <cstring>
#include <optional>

#include <granary/key.h>

namespace granary {
namespace {

/// A value is: next piece, bytes of the name, bytes of the arguments; name, arguments, reply.
struct Head {
  std::uint32_t next_piece;
  std::uint32_t name_bytes;
  std::uint32_t args_bytes;
};

std::string encode(const ChainLog::Call& call) {
  const Head head{.next_piece = call.next_piece,
                  .name_bytes = static_cast<std::uint32_t>(call.procedure.size()),
                  .args_bytes = static_cast<std::uint32_t>(call.args.size())};
  std::string value(reinterpret_cast<const char*>(&head), sizeof head);
  return value.append(call.procedure).append(call.args).append(call.reply);
}

std::optional<ChainLog::Call> decode(std::string_view key, std::string_view value) {
  Head head;
  std::uint64_t number = 0;
  if (!decode_key(key, number) || value.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, value.data(), sizeof head);
  value.remove_prefix(sizeof head);
  if (std::uint64_t{head.name_bytes} + head.args_bytes > value.size()) return std::nullopt;
  return ChainLog::Call{.number = number,
                        .procedure = std::string(value.substr(0, head.name_bytes)),
                        .next_piece = head.next_piece,
                        .args = std::string(value.substr(head.name_bytes, head.args_bytes)),
                        .reply = std::string(value.substr(head.name_bytes + head.args_bytes))};
}

}  // namespace

Result<ChainLog> ChainLog::open(Database& database, Worker& worker, std::vector<Call>& unfinished) {
  const auto table = database.create_table("granary.chains");
  if (!table.ok()) return table.status();
  ChainLog log(*table);
  if (const Status done = log.read(worker, unfinished); !done.ok()) return done;
  if (!unfinished.empty()) log.next_number_->store(unfinished.back().number + 1, std::memory_order_relaxed);
  return log;
}

Status ChainLog::read(Worker& worker, std::vector<Call>& calls) const {
  bool damaged = false;
  const RunResult done = worker.run([&](Transaction& t) {
    calls.clear();
    damaged = false;
    (void)t.scan(table_, {}, [&](std::string_view key, std::string_view value) {
      auto call = decode(key, value);
      damaged = damaged || !call;
      if (call) calls.push_back(std::move(*call));
      return true;
    });
  });
  if (damaged) return {StatusCode::kDamaged, "table 'granary.chains' holds what is no call of a chain"};
  if (!done.committed())
    return {StatusCode::kFailedPrecondition,
            "table 'granary.chains' cannot be read: " + std::string(name(done.reason))};
  return {};
}

void ChainLog::note(Transaction& transaction, const Call& call) const {
  (void)transaction.put(table_, encode_key<std::uint64_t>(call.number), encode(call));
}

void ChainLog::forget(Transaction& transaction, std::uint64_t number) const {
  (void)transaction.remove(table_, encode_key<std::uint64_t>(number));
}

}  // namespace granary
