#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/chart_frame.h"
#include "report/html.h"

namespace fwl {
namespace {

constexpr size_t chart_colours = 6;  // the number of colours in the style
constexpr double letter_width = 7;

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

bool can_show(const LineChart& chart, const ChartPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!chart.has_log_y || point.y > 0);
}

std::string colour_class(const Curve& curve) {
  return fmt::format("c{}", curve.colour % chart_colours);
}

std::string draw_curve(const LineChart& chart, const Curve& curve, const ChartFrame& frame) {
  std::string path, markers;
  for (const auto& point : curve.points) {
    if (!can_show(chart, point)) continue;
    const auto x = frame.x(point.x), y = frame.y(point.y);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (curve.look == Curve::Look::marked)
      markers +=
          fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}: {:.4f} at {:g}</title></circle>)",
                      colour_class(curve), x, y, escape_html(curve.name), point.y, point.x);
  }
  if (path.empty()) return {};
  const char* look = curve.look == Curve::Look::faint ? " faint" : curve.look == Curve::Look::marked ? " dashed" : "";
  return fmt::format(R"(<path class="{}{}" d="{}"/>)", colour_class(curve), look, path) + markers;
}

std::string draw_bar(const Bar& bar, double middle, double bar_width, const ChartFrame& frame) {
  const double zero = frame.y(0), end = frame.y(bar.value);
  auto markup = fmt::format(R"(<rect class="{}{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)",
                            bar.value < 0 ? "loss" : "gain", bar.error > 0 ? "" : " pale", middle - bar_width / 2,
                            std::min(zero, end), bar_width, std::abs(end - zero));
  if (bar.error > 0) {
    const double low = frame.y(bar.value - bar.error), high = frame.y(bar.value + bar.error);
    markup += fmt::format(R"(<path class="whisker" d="M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h6M{3:.1f} {2:.1f}h6"/>)",
                          middle, low, high, middle - 3);
  }
  return fmt::format("<g><title>{}</title>{}</g>", escape_html(bar.note), markup);
}

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

std::string draw(const LineChart& chart) {
  Extent xs, ys;
  xs.add(0);
  for (const auto& curve : chart.curves)
    for (const auto& point : curve.points) {
      if (curve.look == Curve::Look::faint || !can_show(chart, point)) continue;
      xs.add(point.x);
      ys.add(chart.highest_y > 0 ? std::min(point.y, chart.highest_y) : point.y);
    }
  if (ys.is_empty()) return {};
  ChartFrame frame(chart.label, Axis(xs.low, xs.high), Axis::rounded(ys.low, ys.high, chart.has_log_y), 42);
  frame.add_y_axis(chart.y_label);
  frame.add_x_axis();
  frame.add_x_label(chart.x_label);
  // An inner SVG of the plot's size clips curves; markers on its edge are not clipped.
  constexpr double edge = 4, inner = ChartFrame::width - ChartFrame::left - ChartFrame::right;
  frame.add(fmt::format(R"(<svg x="{0}" y="{1}" width="{2}" height="{3}" viewBox="{0} {1} {2} {3}">)",
                        ChartFrame::left - edge, ChartFrame::top - edge, inner + 2 * edge,
                        ChartFrame::plot_height + 2 * edge));
  for (const auto& curve : chart.curves) frame.add(draw_curve(chart, curve, frame));
  frame.add("</svg>");
  return frame.finish();
}

std::string draw(const BarChart& chart) {
  Extent extent;
  extent.add(0);
  size_t longest = 0;
  for (const auto& bar : chart.bars) {
    longest = std::max(longest, characters(bar.label));
    if (!std::isfinite(bar.value) || !std::isfinite(bar.error)) continue;
    extent.add(bar.value - bar.error);
    extent.add(bar.value + bar.error);
  }
  const auto count = static_cast<double>(chart.bars.size());
  const double slot = (ChartFrame::width - ChartFrame::left - ChartFrame::right) / std::max(1.0, count);
  const bool is_slanted = static_cast<double>(longest) * letter_width > slot - 3;
  const double below = is_slanted ? 38 + 0.67 * static_cast<double>(longest) * letter_width : 42;
  ChartFrame frame(chart.label, Axis(0, count), Axis::rounded(extent.low, extent.high), below);
  frame.add_y_axis(chart.y_label);
  for (size_t index = 0; index < chart.bars.size(); ++index) {
    const auto& bar = chart.bars[index];
    const double middle = frame.x(static_cast<double>(index) + 0.5);
    if (std::isfinite(bar.value)) frame.add(draw_bar(bar, middle, std::min(0.68 * slot, 44.0), frame));
    if (is_slanted)
      frame.add(fmt::format(R"svg(<text class="tick end" transform="translate({:.1f} {}) rotate(-42)">{}</text>)svg",
                            middle + 4, ChartFrame::bottom() + 13, escape_html(bar.label)));
    else
      frame.add(fmt::format(R"(<text class="tick" x="{:.1f}" y="{}">{}</text>)", middle, ChartFrame::bottom() + 18,
                            escape_html(bar.label)));
  }
  frame.add(fmt::format(R"(<line class="rule" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", ChartFrame::left,
                        ChartFrame::width - ChartFrame::right, frame.y(0), frame.y(0)));
  frame.add_x_label(chart.x_label);
  return frame.finish();
}

std::string legend(const std::vector<Curve>& curves) {
  std::string entries;
  for (const auto& curve : curves) {
    if (curve.name.empty()) continue;
    const bool is_marked = curve.look == Curve::Look::marked;
    const auto sample = fmt::format(
        R"(<svg class="key" viewBox="0 0 26 8"><path class="{0}{1}" d="M0 4H26"/>{2}</svg>)", colour_class(curve),
        is_marked ? " dashed" : "",
        is_marked ? fmt::format(R"(<circle class="{}" cx="13" cy="4" r="3"/>)", colour_class(curve)) : std::string());
    entries += element("span", "", sample + escape_html(curve.name));
  }
  return element("div", "class=\"legend\"", entries) + "\n";
}

}  // namespace fwl
