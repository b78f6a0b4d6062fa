#include "tests/crash/ledger.h"

#include <cstring>
#include <set>

namespace granary::crash {
namespace {

/// Bytes that no other entry has, so that a value in another key's place is noticed.
std::string filling(std::uint64_t key, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint64_t word = key;
  for (char& byte : text) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(word >> 56);
  }
  return text;
}

std::string entry(std::uint64_t key, const Transfer& transfer, std::size_t more) {
  std::string bytes(reinterpret_cast<const char*>(&transfer), sizeof transfer);
  return bytes + filling(key, more);
}

Sheet empty_sheet(std::uint64_t number) {
  Sheet sheet;
  sheet.filling.fill(number);
  return sheet;
}

/// Notes the transaction in its sheet.
void note_number(Transaction& t, const Ledger& ledger, std::uint32_t worker, std::uint64_t number) {
  const std::uint64_t key = number % kSheets;
  if (number % kWhole != 0) {
    const Table& sheets = ledger.sheets;
    static_cast<void>(t.update_part(sheets, encode_key(key), offsetof(Sheet, last) + worker * sizeof number,
                                    {reinterpret_cast<const char*>(&number), sizeof number}));
  } else if (auto sheet = t.get(ledger.sheets, key)) {
    sheet->last[worker] = number;
    static_cast<void>(t.put(ledger.sheets, key, *sheet));
  }
}

class Auditor {
 public:
  Auditor(Transaction& t, const Ledger& ledger) : t_(t), ledger_(ledger) {}

  Audit run() {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      see_journal(worker);
      see_recent(worker);
    }
    see_index();
    see_balances();
    see_sheets();
    return std::move(audit_);
  }

 private:
  void blame(std::string sentence) { audit_.violations.push_back(std::move(sentence)); }

  void see_journal(std::uint32_t worker) {
    const std::uint64_t counter = t_.get(ledger_.counters, worker).value_or(0);
    audit_.counters[worker] = counter;
    std::uint64_t expected = 0;
    const auto from = encode_key(entry_key(worker, 0)), to = encode_key(entry_key(worker + 1, 0));
    static_cast<void>(
        t_.scan(ledger_.journal, {.from = from, .to = to}, [&](std::string_view key, std::string_view bytes) {
          std::uint64_t found = 0;
          if (!decode_key(key, found) || found != entry_key(worker, ++expected)) {
            blame("the journal of worker " + std::to_string(worker) + " lacks number " + std::to_string(expected));
            return false;
          }
          see_entry(found, bytes);
          return true;
        }));
    if (expected != counter)
      blame("worker " + std::to_string(worker) + " has counted " + std::to_string(counter) +
            " transactions, its journal has " + std::to_string(expected));
    entries_ += expected;
  }

  void see_entry(std::uint64_t key, std::string_view bytes) {
    Transfer transfer;
    if (bytes.size() < sizeof transfer) return blame("an entry of the journal is cut off");
    std::memcpy(&transfer, bytes.data(), sizeof transfer);
    if (bytes != entry(key, transfer, bytes.size() - sizeof transfer) || transfer.from >= kAccounts ||
        transfer.to >= kAccounts)
      return blame("entry " + std::to_string(key) + " of the journal does not hold what was written");
    moved_[transfer.from] -= transfer.amount;
    moved_[transfer.to] += transfer.amount;
  }

  void see_recent(std::uint32_t worker) {
    const std::uint64_t counter = audit_.counters[worker];
    const std::uint64_t first = counter < kWindow ? 1 : counter - kWindow + 1;
    std::uint64_t expected = first;
    static_cast<void>(t_.scan(ledger_.recent, entry_key(worker, 0), entry_key(worker + 1, 0),
                              [&](std::uint64_t key, std::uint64_t number) {
                                if (key != entry_key(worker, expected) || number != expected)
                                  blame("the recent entries of worker " + std::to_string(worker) + " have " +
                                        std::to_string(number) + " instead of " + std::to_string(expected));
                                ++expected;
                                return true;
                              }));
    if (expected != counter + 1)
      blame("worker " + std::to_string(worker) + " has " + std::to_string(expected - first) + " recent entries, not " +
            std::to_string(counter + 1 - first));
  }

  void see_index() {
    std::set<std::string, std::less<>> found;
    std::uint64_t last = 0;
    static_cast<void>(t_.scan(ledger_.by_account, {}, [&](std::string_view key, std::string_view bytes) {
      Transfer transfer;
      std::memcpy(&transfer, bytes.data(), std::min(bytes.size(), sizeof transfer));
      if (transfer.from < last) blame("the index is out of order");
      last = transfer.from;
      if (!found.emplace(key).second) blame("the index has an entry twice");
      return true;
    }));
    if (found.size() != entries_)
      blame("the index has " + std::to_string(found.size()) + " entries, the journal " + std::to_string(entries_));
  }

  void see_balances() {
    std::uint64_t there = 0;
    for (std::uint64_t account = 0; account < kAccounts; ++account) {
      const auto balance = t_.get(ledger_.accounts, account);
      if (!balance) continue;
      ++there;
      if (*balance != kOpeningBalance + moved_[account])
        blame("account " + std::to_string(account) + " has " + std::to_string(*balance) + ", by the journal it has " +
              std::to_string(kOpeningBalance + moved_[account]));
    }
    if (there != kAccounts && (there != 0 || entries_ != 0)) blame(std::to_string(there) + " accounts are there");
  }

  void see_sheets() {
    for (std::uint64_t i = 0; i < kSheets && entries_ != 0; ++i) {
      const auto sheet = t_.get(ledger_.sheets, i);
      if (!sheet) {
        blame("sheet " + std::to_string(i) + " is missing");
        continue;
      }
      if (sheet->filling != empty_sheet(i).filling)
        blame("sheet " + std::to_string(i) + " has a part in a wrong place");
      for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
        const std::uint64_t counter = audit_.counters[worker], back = (counter + kSheets - i) % kSheets;
        const std::uint64_t expected = counter < back ? 0 : counter - back;
        if (sheet->last[worker] == expected) continue;
        blame("sheet " + std::to_string(i) + " has number " + std::to_string(sheet->last[worker]) + " of worker " +
              std::to_string(worker) + ", not " + std::to_string(expected));
      }
    }
  }

  Transaction& t_;
  const Ledger& ledger_;
  Audit audit_;
  std::uint64_t entries_ = 0;
  std::array<std::int64_t, kAccounts> moved_{};
};

}  // namespace

Result<Ledger> open_ledger(Database& database) {
  auto accounts = database.create_table<std::uint64_t, std::int64_t>(
      "accounts", {.index = IndexKind::kHash, .expected_keys = kAccounts});
  if (!accounts.ok()) return accounts.status();
  auto counters = database.create_table<std::uint64_t, std::uint64_t>("counters");
  if (!counters.ok()) return counters.status();
  auto journal = database.create_table("journal");
  if (!journal.ok()) return journal.status();
  auto by_account = database.create_index(*journal, "by_account", {.parts = {value_part(&Transfer::from)}});
  if (!by_account.ok()) return by_account.status();
  auto recent = database.create_table<std::uint64_t, std::uint64_t>("recent");
  if (!recent.ok()) return recent.status();
  auto sheets = database.create_table<std::uint64_t, Sheet>("sheets");
  if (!sheets.ok()) return sheets.status();
  return Ledger{*accounts, *counters, *journal, *by_account, *recent, *sheets};
}

void populate(Transaction& t, const Ledger& ledger) {
  if (t.get(ledger.accounts, 0)) return;
  for (std::uint64_t account = 0; account < kAccounts; ++account)
    static_cast<void>(t.put(ledger.accounts, account, kOpeningBalance));
  for (std::uint64_t worker = 0; worker < kWorkers; ++worker) static_cast<void>(t.put(ledger.counters, worker, 0));
  for (std::uint64_t i = 0; i < kSheets; ++i) static_cast<void>(t.put(ledger.sheets, i, empty_sheet(i)));
}

std::uint64_t move_money(Transaction& t, const Ledger& ledger, std::uint32_t worker, const Transfer& transfer,
                         std::size_t more) {
  const auto from = t.get(ledger.accounts, transfer.from);
  const auto count = t.get(ledger.counters, worker);
  if (!from || !count) return 0;
  static_cast<void>(t.put(ledger.accounts, transfer.from, *from - transfer.amount));
  const auto to = t.get(ledger.accounts, transfer.to);  // after the first write, as it may be the same account
  if (!to) return 0;
  static_cast<void>(t.put(ledger.accounts, transfer.to, *to + transfer.amount));
  const std::uint64_t number = *count + 1, key = entry_key(worker, number);
  static_cast<void>(t.put(ledger.counters, worker, number));
  static_cast<void>(t.insert(ledger.journal, encode_key(key), entry(key, transfer, more)));
  static_cast<void>(t.insert(ledger.recent, key, number));
  if (number > kWindow) static_cast<void>(t.remove(ledger.recent, entry_key(worker, number - kWindow)));
  note_number(t, ledger, worker, number);
  return number;
}

Audit audit(Transaction& t, const Ledger& ledger) { return Auditor(t, ledger).run(); }

}  // namespace granary::crash
