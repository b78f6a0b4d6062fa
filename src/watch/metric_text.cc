#include "src/watch/metric_text.h"

#include <cmath>

#include <fmt/format.h>

namespace granary::watch {
namespace {

/// Appends the value. Backslashes and line ends are escaped everywhere, quotation marks in labels only.
void append_escaped(std::string& text, std::string_view value, bool label) {
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && label) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

std::string written(std::initializer_list<Label> labels) {
  std::string text;
  for (const Label& label : labels) {
    if (!text.empty()) text += ',';
    text += label.name;
    text += "=\"";
    append_escaped(text, label.value, /*label=*/true);
    text += '"';
  }
  return text;
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

MetricText::MetricText(std::initializer_list<Label> labels) : common_(written(labels)) {}

MetricText& MetricText::begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_ += "# HELP ";
  text_ += name;
  text_ += ' ';
  append_escaped(text_, help, /*label=*/false);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type);
  return *this;
}

void MetricText::sample(std::string_view suffix, std::string_view value, std::initializer_list<Label> labels) {
  text_ += name_;
  text_ += suffix;
  const std::string own = written(labels);
  if (!common_.empty() || !own.empty()) {
    text_ += '{';
    text_ += common_;
    if (!common_.empty() && !own.empty()) text_ += ',';
    text_ += own;
    text_ += '}';
  }
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

MetricText& MetricText::add(double value, std::initializer_list<Label> labels) {
  sample("", number_text(value), labels);
  return *this;
}

MetricText& MetricText::add(std::uint64_t value, std::initializer_list<Label> labels) {
  sample("", fmt::format("{}", value), labels);
  return *this;
}

void MetricText::histogram(std::string_view name, std::string_view help, const std::vector<HistogramStep>& steps,
                           std::uint64_t count, double sum) {
  begin(name, help, "histogram");
  for (const HistogramStep& step : steps)
    sample("_bucket", fmt::format("{}", step.count), {{"le", number_text(step.most)}});
  sample("_bucket", fmt::format("{}", count), {{"le", "+Inf"}});
  sample("_sum", number_text(sum), {});
  sample("_count", fmt::format("{}", count), {});
}

}  // namespace granary::watch
