// A walk through the API: typed and byte tables, a hash table, scans both ways, a secondary index, a snapshot, a user
// abort.

#include <granary/granary.h>

#include <cstdio>
#include <string>

struct Person {
  granary::FixedString<16> name;
  std::int32_t age = 0;
};

int main() {
  auto opened = granary::Database::open({.epoch_ms = 5, .snapshot_epochs = 2});
  if (!opened.ok()) return std::fprintf(stderr, "%s\n", opened.status().message().c_str()), 1;
  granary::Database& db = **opened;
  const auto people = db.create_table<std::uint64_t, Person>("people").value();
  const auto by_age = db.create_index(people, "people_by_age", {.parts = {granary::value_part(&Person::age)}}).value();
  // Found by its key only, and faster: a badge's number leads to a person.
  const auto badges = db.create_table<std::uint64_t, std::uint64_t>(
                            "badges", {.index = granary::IndexKind::kHash, .expected_keys = 1000})
                          .value();
  const granary::Table notes = db.create_table("notes").value();
  auto worker = db.register_worker().value();

  const auto stored = worker.run([&](granary::Transaction& t) {
    (void)t.put(people, 1, {"Ada", 36});
    (void)t.put(people, 2, {"Edgar", 41});
    (void)t.put(people, 3, {"Grace", 35});
    (void)t.put(badges, 4711, 2);
    (void)t.put(notes, "welcome", "any bytes, any length");
  });
  if (!stored) return std::fprintf(stderr, "%s\n", std::string(meaning(stored.reason)).c_str()), 1;

  (void)worker.run([&](granary::Transaction& t) {
    (void)t.scan(
        people, 1, 3,
        [](std::uint64_t id, const Person& person) {  // the end is not included
          std::printf("%d: %s\n", static_cast<int>(id), std::string(person.name.view()).c_str());
          return true;  // go on
        },
        granary::Order::kDescending);

    const auto from = granary::encode_key<std::int32_t>(30), to = granary::encode_key<std::int32_t>(40);
    const auto thirties =
        t.scan(by_age, {.from = from, .to = to}, [](std::string_view, std::string_view) { return true; });
    std::printf("%d in their thirties\n", static_cast<int>(thirties.count));

    const auto wearer = t.get(people, t.get(badges, 4711).value_or(0));
    if (wearer) std::printf("badge 4711: %s\n", std::string(wearer->name.view()).c_str());

    std::string text;
    if (t.get(notes, "welcome", text) == granary::Outcome::kOk) std::printf("note: %s\n", text.c_str());
  });

  const auto given_up = worker.run([&](granary::Transaction& t) {
    (void)t.remove(people, 1);
    t.abort();  // nothing happened
  });
  std::printf("given up: %s\n", std::string(name(given_up.reason)).c_str());

  for (;;) {  // a snapshot lies a little in the past: at first it is empty
    granary::Snapshot snapshot = worker.snapshot();
    if (const auto ada = snapshot.get(people, 1)) {
      std::printf("in a snapshot: %s, %d\n", std::string(ada->name.view()).c_str(), static_cast<int>(ada->age));
      return 0;
    }
  }
}
