#include "bench/cluster/recovery_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/table.h"

namespace granary::bench::cluster {

namespace {

using Json = nlohmann::ordered_json;

struct Event {
  std::uint64_t at_ns = 0;
  std::string text;
};

/// Returns the events in the order of time.
std::vector<Event> events_of(const KilledRun& run, const std::string& label) {
  std::vector<Event> events{{run.killed_ns, label + " is killed"}};
  if (run.restarted_ns != 0) events.push_back({run.restarted_ns, "started again"});
  for (std::size_t step = 0; step < kRecoverySteps; ++step) {
    if (run.steps[step] != 0)
      events.push_back({run.steps[step], std::string(meaning(static_cast<RecoveryStep>(step)))});
  }
  std::ranges::stable_sort(events, {}, &Event::at_ns);
  return events;
}

/// Writes the lines of a time line.
class TimeLineText {
 public:
  TimeLineText(const std::vector<std::string>& labels, const KilledRun& run)
      : run_(run),
        events_(events_of(run, labels[run.victim])) {
    rows_.push_back({"ms after the kill"});
    rows_.front().insert(rows_.front().end(), labels.begin(), labels.end());
  }

  std::string text() {
    for (std::size_t bin = 0; bin < bins(run_);) {
      std::size_t end = bin + 1;
      while (!near_event(bin) && end < bins(run_) && !near_event(end)) ++end;
      add(bin, end);
      bin = end;
    }
    return with_notes();
  }

 private:
  std::uint64_t start_of(std::size_t bin) const { return run_.begins_ns + bin * kBinNs; }
  bool in(const Event& event, std::size_t from, std::size_t to) const {
    return event.at_ns >= start_of(from) && event.at_ns < start_of(to);
  }
  bool near_event(std::size_t bin) const {
    constexpr std::size_t kNear = 4;
    return std::ranges::any_of(
        events_, [&](const Event& event) { return in(event, bin - std::min(bin, kNear), bin + kNear + 1); });
  }
  /// Returns the whole milliseconds from the kill to the bin.
  std::string since_kill(std::size_t bin) const {
    const double ns = static_cast<double>(start_of(bin)) - static_cast<double>(run_.killed_ns);
    return fmt::format("{}", std::lround(ns / 1e6));
  }
  void add(std::size_t from, std::size_t to) {
    rows_.push_back({to == from + 1 ? since_kill(from) : fmt::format("{} to {}", since_kill(from), since_kill(to))});
    for (const NodeCourse& node : run_.nodes) {
      std::uint64_t sum = 0;
      for (std::size_t bin = from; bin < to; ++bin) sum += committed(counts_of(node, bin));
      rows_.back().push_back(fmt::format("{}", sum / (to - from)));
    }
    std::vector<std::string> happened;
    for (const Event& event : events_) {
      if (!in(event, from, to)) continue;
      happened.push_back(
          fmt::format("{} ({:.1f})", event.text, static_cast<double>(event.at_ns - run_.killed_ns) / 1e6));
    }
    notes_.push_back(fmt::format("{}", fmt::join(happened, "; ")));
  }
  /// Returns the rows, with the notes on events to the right of the columns.
  std::string with_notes() const {
    std::string text;
    std::size_t line = 0, from = 0;
    const std::string table = aligned(rows_);
    for (std::size_t end = table.find('\n'); end != std::string::npos; from = end + 1, end = table.find('\n', from)) {
      text += table.substr(from, end - from);
      if (line > 0 && line <= notes_.size() && !notes_[line - 1].empty()) text += "  " + notes_[line - 1];
      text += "\n";
      ++line;
    }
    return text;
  }

  const KilledRun& run_;
  const std::vector<Event> events_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> notes_;  ///< the notes of the rows, except the first
};

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// Returns milliseconds since the measured window began; null if the event did not take place.
Json moment(const KilledRun& run, std::uint64_t at_ns) {
  if (at_ns == 0) return nullptr;
  return (static_cast<double>(at_ns) - static_cast<double>(run.begins_ns)) / 1e6;
}

Json course_json(const KilledRun& run, const NodeCourse& node) {
  constexpr const char* kNames[] = {"here", "elsewhere", "with_killed_node", "gave_up", "aborted"};
  static_assert(std::size(kNames) == kTickCounts);
  Json json{{"committed", Json::array()}};
  for (std::size_t bin = 0; bin < bins(run); ++bin) {
    const TickCounts counts = counts_of(node, bin);
    json["committed"].push_back(committed(counts));
    for (std::size_t what = 0; what < kTickCounts; ++what) json[kNames[what]].push_back(counts[what]);
  }
  return json;
}

/// Returns how much the survivors and the killed node committed a second, bin by bin, by the time since the kill.
Json committed_json(const KilledRun& run) {
  constexpr double kBinsASecond = 1e9 / static_cast<double>(kBinNs);
  Json list = Json::array();
  for (std::size_t bin = 0; bin < bins(run); ++bin) {
    std::uint64_t survivors = 0, killed = 0;
    for (std::size_t node = 0; node < run.nodes.size(); ++node)
      (node == run.victim ? killed : survivors) += committed(counts_of(run.nodes[node], bin));
    const double begins_ns = static_cast<double>(run.begins_ns) + static_cast<double>(bin * kBinNs);
    list.push_back({{"since_kill_ms", (begins_ns - static_cast<double>(run.killed_ns)) / 1e6},
                    {"survivors_per_second", static_cast<double>(survivors) * kBinsASecond},
                    {"killed_node_per_second", static_cast<double>(killed) * kBinsASecond}});
  }
  return list;
}

Json repeat_json(const std::vector<std::string>& labels, const KilledRun& run) {
  Json json{{"killed_ms", moment(run, run.killed_ns)}, {"restarted_ms", moment(run, run.restarted_ns)}};
  for (std::size_t step = 0; step < kRecoverySteps; ++step)
    json["steps_ms"][std::string(name(static_cast<RecoveryStep>(step)))] = moment(run, run.steps[step]);
  for (const RecoveryFigure& figure : recovery_figures(run))
    json["figures"][std::string(figure.name)] = number(figure.value);
  for (std::size_t node = 0; node < run.nodes.size(); ++node)
    json["time_line"][labels[node]] = course_json(run, run.nodes[node]);
  json["committed"] = committed_json(run);
  return json;
}

}  // namespace

std::vector<FigureOfAll> over_repeats(const std::vector<KilledRun>& runs) {
  std::vector<FigureOfAll> all;
  std::vector<std::vector<double>> values;
  for (const KilledRun& run : runs) {
    const std::vector<RecoveryFigure> figures = recovery_figures(run);
    values.resize(figures.size());
    all.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      all[i].figure = {figures[i].name, figures[i].meaning};
      if (figures[i].value) values[i].push_back(*figures[i].value);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::ranges::sort(values[i]);
    all[i].runs = values[i].size();
    if (values[i].empty()) continue;
    all[i].figure.value = values[i][(values[i].size() - 1) / 2];
    all[i].greatest = values[i].back();
  }
  return all;
}

std::string recovery_text(const std::vector<std::string>& labels, const std::vector<KilledRun>& runs,
                          std::size_t shown) {
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; };
  std::vector<std::vector<std::string>> rows{
      {fmt::format("{} was killed", labels[runs[shown].victim]), "median", "greatest", "repeats"}};
  for (const FigureOfAll& each : over_repeats(runs)) {
    rows.push_back({std::string(each.figure.meaning), cell(each.figure.value), cell(each.greatest),
                    fmt::format("{} of {}", each.runs, runs.size())});
  }
  return aligned(rows) + "\n" +
         fmt::format("committed in 50 ms, of repeat {} of {}; where nothing happened, the mean\n", shown + 1,
                     runs.size()) +
         TimeLineText(labels, runs[shown]).text();
}

Json recovery_json(const std::vector<std::string>& labels, const std::vector<KilledRun>& runs) {
  Json json{{"node", labels[runs.front().victim]}, {"bin_ms", kBinNs / 1'000'000}};
  for (const FigureOfAll& each : over_repeats(runs)) {
    json["figures"][std::string(each.figure.name)] = {
        {"median", number(each.figure.value)}, {"greatest", number(each.greatest)}, {"runs", each.runs}};
  }
  json["repeats"] = Json::array();
  for (const KilledRun& run : runs) json["repeats"].push_back(repeat_json(labels, run));
  return json;
}

}  // namespace granary::bench::cluster
