#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"

namespace fwl {
namespace {

constexpr size_t shown_points = 300;

// A moving average over a twentieth of the run.
std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points) {
  const size_t reach = points.size() / 40;
  std::vector<ChartPoint> result;
  for (size_t index = 0; index < points.size(); ++index) {
    const size_t near = std::min({reach, index, points.size() - 1 - index});  // the same distance to both sides
    double sum = 0;
    for (size_t other = index - near; other <= index + near; ++other) sum += points[other].y;
    result.push_back({points[index].x, sum / static_cast<double>(2 * near + 1)});
  }
  return result;
}

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points) {
  const size_t every = points.size() / shown_points + 1;
  std::vector<ChartPoint> result;
  for (size_t index = 0; index < points.size(); index += every) result.push_back(points[index]);
  if (!points.empty() && result.back().x != points.back().x) result.push_back(points.back());
  return result;
}

// Clips the high losses of the first steps, which would flatten the rest of the chart.
double highest_loss(const std::vector<Curve>& curves) {
  std::vector<double> losses;
  for (const auto& curve : curves)
    if (curve.look == Curve::Look::line)
      for (const auto& point : curve.points) losses.push_back(point.y);
  if (losses.size() < 50) return 0;
  const auto place = losses.begin() + static_cast<int64_t>(losses.size() * 95 / 100);
  std::ranges::nth_element(losses, place);
  return *place;
}

std::string figure(const std::string& chart, const std::vector<Curve>& curves, const std::string& caption) {
  if (chart.empty()) return {};
  return "<figure>\n" + chart + legend(curves) + caption + "</figure>\n";
}

std::string loss_figure(const std::vector<TrainingRun>& runs, Captions& captions) {
  LineChart chart{"training and validation loss by step", "step", "loss (nats per token)", false, 0, {}};
  for (size_t index = 0; index < runs.size(); ++index)
    chart.curves.push_back({"", thinned(runs[index].losses), index, Curve::Look::faint});
  for (size_t index = 0; index < runs.size(); ++index) {
    const auto& run = runs[index];
    chart.curves.push_back({run.path, thinned(smoothed(run.losses)), index, Curve::Look::line});
    if (!run.validations.empty())
      chart.curves.push_back({run.path + ", validation", run.validations, index, Curve::Look::marked});
  }
  chart.highest_y = highest_loss(chart.curves);
  const auto drawn = draw(chart);
  return drawn.empty()
             ? drawn
             : figure(drawn, chart.curves,
                      captions.figure("Training loss, smoothed over a twentieth of the run (pale: as recorded), "
                                      "and validation loss by step."));
}

std::string step_size_figure(const TrainingRun& run, Captions& captions) {
  LineChart chart{"step sizes by step", "step", "value", true, 0, {}};
  for (const auto& [name, points] : run.step_sizes)
    chart.curves.push_back({name, thinned(points), chart.curves.size(), Curve::Look::line});
  const auto drawn = draw(chart);
  if (drawn.empty()) return drawn;
  return figure(drawn, chart.curves,
                captions.figure(fmt::format("Learned step sizes of {} by step.", escape_html(run.path))));
}

std::string run_row(const TrainingRun& run) {
  auto row = element("th", "scope=\"row\"", escape_html(run.path));
  const auto cell = [&](const std::string& text) { row += element("td", "", text); };
  cell(escape_html(run.objective));
  cell(shown_count(run.parameters));
  cell(fmt::format("{} / {}", run.losses.empty() ? "0" : fmt::format("{:.0f}", run.losses.back().x), run.steps));
  double sum = 0;
  for (const auto& point : run.tokens_per_second) sum += point.y;
  cell(shown_rate(sum / static_cast<double>(run.tokens_per_second.size())));
  if (run.validations.empty() || run.slow_validations.size() != run.validations.size()) {
    row += "<td>–</td><td>–</td><td>–</td>";
  } else {
    const auto best = std::ranges::min_element(run.validations, {}, &ChartPoint::y);
    cell(fmt::format("{:.0f}", best->x));
    cell(shown_number(best->y, 4));
    cell(shown_number(run.slow_validations[static_cast<size_t>(best - run.validations.begin())].y, 4));
  }
  return element("tr", "", row) + "\n";
}

std::string runs_table(const std::vector<TrainingRun>& runs, Captions& captions) {
  std::string rows;
  for (const auto& run : runs) rows += run_row(run);
  const auto head =
      "<thead><tr><th scope=\"col\">run</th><th>objective</th><th>parameters</th><th>steps</th><th>tok/s</th>"
      "<th>best at</th><th>validation</th><th>slow</th></tr></thead>\n<tbody>\n";
  return table_figure(
      "", head + rows + "</tbody>",
      captions.table("The runs, and their validation loss in nats at the best step; slow: with the fast "
                     "weights off."));
}

}  // namespace

std::string training_section(const std::vector<TrainingRun>& runs, Captions& captions) {
  if (runs.empty()) return {};
  auto section = "<section>\n<h2>Training</h2>\n" + runs_table(runs, captions) + "<div class=\"figures\">\n";
  section += loss_figure(runs, captions);
  for (const auto& run : runs)
    if (run.objective != "static") section += step_size_figure(run, captions);
  return section + "</div>\n</section>\n";
}

}  // namespace fwl
