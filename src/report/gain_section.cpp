#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "report/axis.h"
#include "report/page_style.h"
#include "report/sections.h"
#include "report/svg_chart.h"

namespace fwl {
namespace {

// 1024 as 1k, 1048576 as 1M: the groups' bounds are powers of two.
std::string short_bound(int64_t bound) {
  if (bound >= 1 << 20) return fmt::format("{}M", (bound + (1 << 19)) >> 20);
  return bound >= 1 << 10 ? fmt::format("{}k", (bound + (1 << 9)) >> 10) : std::to_string(bound);
}

// Shortens group names for an axis: "131072-262143" becomes "128k–256k", "1e3-1e4" becomes "10³–10⁴".
std::string short_group_name(const std::string& name) {
  const auto dash = name.find('-');
  if (dash == std::string::npos) return name;
  const auto bound = [](std::string_view text) {
    const bool is_power = text.starts_with("1e");
    if (is_power) text.remove_prefix(2);
    int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return is_power ? power_of_ten(static_cast<int>(number)) : short_bound(number);
  };
  return bound(std::string_view(name).substr(0, dash)) + "–" + bound(std::string_view(name).substr(dash + 1));
}

std::string gain_chart(const std::vector<GainGroup>& groups, const std::string& x_label, const NllPair& pair) {
  BarChart chart{"gain by " + x_label, x_label, "gain (nats per token)", {}};
  for (const auto& group : groups)
    chart.bars.push_back(
        {short_group_name(group.name),
         fmt::format("{}: {} {:.4f}, {} {:.4f}, gain {:+.4f} ± {:.4f}, {} tokens", group.name, pair.before_name,
                     group.before, pair.after_name, group.after, group.gain, group.standard_error, group.tokens),
         group.gain, group.standard_error});
  return draw(chart);
}

std::string figure(const std::string& chart, const std::string& caption) {
  return "<figure>\n" + chart + caption + "</figure>\n";
}

}  // namespace

GainCharts gain_charts(const NllPair& pair, const std::vector<int64_t>& training_counts) {
  GainCharts charts;
  charts.by_position = gain_chart(gain_by_position(pair), "position in the document or window", pair);
  if (!training_counts.empty())
    charts.by_frequency = gain_chart(gain_by_frequency(pair, training_counts), "occurrences in training", pair);
  charts.by_repetition = gain_chart(gain_by_repetition(pair), "occurrences before in it", pair);
  return charts;
}

std::string gain_section(const NllPair& pair, const GainCharts& charts, Captions& captions) {
  double before = 0, after = 0;
  for (size_t index = 0; index < pair.before.size(); ++index) {
    before += pair.before[index];
    after += pair.after[index];
  }
  const auto tokens = static_cast<double>(pair.before.size());
  auto section = fmt::format(
      "<section>\n<h2>Where it helps</h2>\n<p>The gain of <b>{1}</b> over <b>{0}</b> is the difference of their losses "
      "on the same token: {0} has {2} nats per token here, {1} has {3}, a gain of {4}. Bars are means, whiskers "
      "standard errors over blocks of 256 tokens; pale bars have too few tokens for one.</p>\n<div "
      "class=\"figures\">\n",
      escape_html(pair.before_name), escape_html(pair.after_name), shown_number(before / tokens, 4),
      shown_number(after / tokens, 4), shown_number((before - after) / tokens, 4));
  section +=
      figure(charts.by_position,
             captions.figure("Gain by position in the document, or in the window where each is read by itself."));
  if (!charts.by_frequency.empty())
    section += figure(charts.by_frequency, captions.figure("Gain by how often the token occurs in the training data."));
  section += figure(charts.by_repetition,
                    captions.figure("Gain by how often the token occurred before in the same document or window."));
  return section + "</div>\n</section>\n";
}

std::string gain_picture(const GainCharts& charts) {
  constexpr int chart_width = 440, chart_height = 310;
  std::string content;
  int width = 0;
  for (const auto* chart : {&charts.by_position, &charts.by_frequency, &charts.by_repetition}) {
    if (chart->empty()) continue;
    content += fmt::format("<svg x=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"xMidYMin\"", width,
                           chart_width, chart_height) +
               chart->substr(std::string_view("<svg").size());
    width += chart_width;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"system-ui, sans-serif\" "
      "font-size=\"12\">\n<style>{}</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill: "
      "var(--paper)\"/>\n{}</svg>\n",
      width, chart_height, chart_style, content);
}

}  // namespace fwl
