#include "tests/log/segment_decoder.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "src/base/crc32c.h"

namespace granary::tests {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kEntryBytes = 16;
constexpr unsigned kEpochShift = 30;

template <typename Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

struct Expected {
  const log::DatabaseId& database;
  std::uint64_t generation;
  std::uint32_t logger;
};

bool header_fits(std::string_view bytes, const Expected& expected, std::uint64_t sequence) {
  return bytes.size() >= kHeaderBytes && bytes.substr(0, 8) == "GRANLOG\n" && number_at<std::uint32_t>(bytes, 8) == 9 &&
         number_at<std::uint32_t>(bytes, 12) == 0x01020304 &&
         std::memcmp(bytes.data() + 16, expected.database.data(), 16) == 0 &&
         number_at<std::uint32_t>(bytes, 56) == expected.logger &&
         number_at<std::uint64_t>(bytes, 40) == expected.generation &&
         number_at<std::uint64_t>(bytes, 48) == sequence &&
         number_at<std::uint32_t>(bytes, 60) == base::crc32c(0, bytes.data(), 60);
}

std::string unpacked(std::string_view body, std::vector<std::string>& mistakes) {
  const auto codec = number_at<std::uint32_t>(body, 0);
  std::string raw(number_at<std::uint32_t>(body, 4), '\0');
  const std::string_view packed = body.substr(8);
  if (codec == 1) {
    const int got =
        LZ4_decompress_safe(packed.data(), raw.data(), static_cast<int>(packed.size()), static_cast<int>(raw.size()));
    if (got != static_cast<int>(raw.size())) mistakes.emplace_back("LZ4 does not unpack");
  } else if (codec == 2) {
    // Kept, as making one takes longer than all else here.
    thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    if (ZSTD_decompressDCtx(context.get(), raw.data(), raw.size(), packed.data(), packed.size()) != raw.size())
      mistakes.emplace_back("zstd does not unpack");
  } else {
    mistakes.push_back("unknown codec " + std::to_string(codec));
  }
  return raw;
}

/// The entry at the front of `bytes`, and how long it is with its padding; false if there is none.
struct Entry {
  std::uint64_t tid_and_kind = 0;
  std::string_view body;
  std::size_t bytes = 0;
};
bool take(std::string_view bytes, Entry* entry) {
  if (bytes.size() < kEntryBytes) return false;
  const auto body = number_at<std::uint32_t>(bytes, 0);
  if (body > bytes.size() - kEntryBytes) return false;
  entry->tid_and_kind = number_at<std::uint64_t>(bytes, 8);
  entry->body = bytes.substr(kEntryBytes, body);
  entry->bytes = std::min(bytes.size(), (kEntryBytes + body + 7) / 8 * 8);
  return (entry->tid_and_kind & 7) != 0;
}

void add_packed(std::string_view raw, DecodedLogger& logger, std::vector<std::string>& mistakes) {
  Entry entry;
  while (!raw.empty()) {
    if (!take(raw, &entry) || (entry.tid_and_kind & 7) != 1) {
      mistakes.emplace_back("a packed entry holds no transactions");
      return;
    }
    if (number_at<std::uint32_t>(raw, 4) != 0) mistakes.emplace_back("a packed transaction has a CRC");
    logger.transactions.push_back({entry.tid_and_kind & ~std::uint64_t{7}, std::string(entry.body)});
    raw.remove_prefix(entry.bytes);
  }
}

/// Before a marker stand transactions of its epoch and of the two that follow, and none of later ones.
void check_ahead(const DecodedLogger& logger, epoch::Epoch complete, std::vector<std::string>& mistakes) {
  for (const DecodedTransaction& transaction : logger.transactions) {
    const epoch::Epoch epoch = transaction.tid >> kEpochShift;
    if (epoch <= complete + 2) continue;
    mistakes.push_back("a transaction of epoch " + std::to_string(epoch) + " stands before the marker of epoch " +
                       std::to_string(complete));
  }
}

/// True if the segment is whole to its end.
bool decode_segment(std::string_view bytes, DecodedLogger& logger, std::vector<std::string>& mistakes) {
  const auto segment_crc = number_at<std::uint32_t>(bytes, 60);
  bytes.remove_prefix(kHeaderBytes);
  Entry entry;
  while (take(bytes, &entry)) {
    const std::uint32_t crc = base::crc32c(segment_crc, bytes.data() + 8, 8 + entry.body.size());
    if (crc != number_at<std::uint32_t>(bytes, 4)) return false;
    switch (entry.tid_and_kind & 7) {
      case 1: logger.transactions.push_back({entry.tid_and_kind & ~std::uint64_t{7}, std::string(entry.body)}); break;
      case 2:
        check_ahead(logger, number_at<std::uint64_t>(entry.body, 0), mistakes);
        if (number_at<std::uint64_t>(entry.body, 0) < logger.complete) mistakes.emplace_back("a marker goes back");
        logger.complete = number_at<std::uint64_t>(entry.body, 0);
        if (!logger.begins_with) logger.begins_with = logger.complete;
        logger.durable_elsewhere = std::max(logger.durable_elsewhere, number_at<epoch::Epoch>(entry.body, 8));
        ++logger.markers;
        break;
      case 3:
        ++logger.packed;
        add_packed(unpacked(entry.body, mistakes), logger, mistakes);
        break;
      case 4: logger.continued_in = number_at<std::uint64_t>(entry.body, 0); break;
      default: mistakes.emplace_back("an entry of unknown kind"); return false;
    }
    bytes.remove_prefix(entry.bytes);
  }
  return bytes.empty();
}

DecodedLogger decode_logger(base::FileSystem& files, const std::string& directory,
                            const std::vector<std::string>& names, const Expected& expected,
                            std::vector<std::string>& mistakes) {
  DecodedLogger logger;
  char prefix[32];
  std::snprintf(prefix, sizeof prefix, "log-g%08u-l%02u-s", static_cast<unsigned>(expected.generation),
                static_cast<unsigned>(expected.logger));
  std::string torn;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const std::uint64_t sequence = std::stoull(name.substr(std::strlen(prefix)));
    if (logger.segments == 0) logger.first_sequence = sequence;
    if (sequence != logger.first_sequence + logger.segments) mistakes.push_back("a segment is missing before " + name);
    ++logger.segments;
    if (logger.continued_in && *logger.continued_in != sequence)
      mistakes.push_back(name + " follows a segment that says another does");
    logger.continued_in.reset();
    logger.begins_with.reset();
    const DecodedLogger before = logger;
    const std::string bytes = *base::read_file(files, directory + "/" + name);
    const bool fits = header_fits(bytes, expected, sequence);
    const bool whole = fits && decode_segment(bytes, logger, mistakes);
    // A segment begins only when all before it is durable. Only the name of the next one is written to it after that,
    // before anything follows the marker that both have.
    const bool begun = fits && logger.transactions.size() == before.transactions.size() &&
                       logger.markers == before.markers + 1 && logger.complete == before.complete;
    if (!torn.empty() && !begun) mistakes.push_back(torn + " is torn, but there is " + name);
    if (torn.empty() && before.segments > 1 && logger.begins_with.value_or(0) > before.complete)
      mistakes.push_back("the segment before " + name + " ends before the marker with which that begins");
    torn = whole ? "" : name;
  }
  if (logger.continued_in)
    mistakes.push_back("segment " + std::to_string(*logger.continued_in) + " is missing, in which the log goes on");
  return logger;
}

}  // namespace

std::map<std::uint64_t, std::string> DecodedLog::replayed() const {
  std::map<std::uint64_t, std::string> bodies;
  for (const DecodedLogger& logger : loggers) {
    for (const DecodedTransaction& transaction : logger.transactions) {
      if (transaction.tid >> kEpochShift <= durable) bodies.emplace(transaction.tid, transaction.body);
    }
  }
  return bodies;
}

DecodedLog decode_log(base::FileSystem& files, const std::string& directory, const log::DatabaseId& database,
                      std::uint64_t generation, std::uint32_t loggers, epoch::Epoch first) {
  DecodedLog log;
  const std::vector<std::string> names = *files.list(directory);
  log.durable = ~epoch::Epoch{0};
  for (std::uint32_t i = 0; i < loggers; ++i) {
    log.loggers.push_back(decode_logger(files, directory, names, {database, generation, i}, log.mistakes));
    log.loggers.back().complete = std::max(log.loggers.back().complete, first);
    log.durable = std::min(log.durable, log.loggers.back().complete);
  }
  for (const DecodedLogger& logger : log.loggers) {
    if (logger.durable_elsewhere > log.durable) {
      log.mistakes.push_back("a marker says that " + std::to_string(logger.durable_elsewhere) +
                             " was durable everywhere, but only " + std::to_string(log.durable) + " is");
    }
  }
  return log;
}

}  // namespace granary::tests
