// Charts as inline SVG: lines from 0 on, bars with errors over groups. Colours come from the page's style.
#pragma once

#include <string>
#include <vector>

namespace fwl {

struct ChartPoint {
  double x = 0, y = 0;
};

struct Curve {
  enum class Look { line, faint, marked };  // faint: behind the others, and no reason to widen the chart

  std::string name;
  std::vector<ChartPoint> points;
  size_t colour = 0;
  Look look = Look::line;
};

struct LineChart {
  std::string label;  // for those who do not see it
  std::string x_label, y_label;
  bool has_log_y = false;
  double highest_y = 0;  // cuts what is above, where it is not 0
  std::vector<Curve> curves;
};

struct Bar {
  std::string label, note;      // the note is a tooltip
  double value = 0, error = 0;  // 0: the error is not known, and the bar pale
};

struct BarChart {
  std::string label, x_label, y_label;
  std::vector<Bar> bars;
};

// Points that are not finite are left out. All texts are escaped here.
std::string draw(const LineChart& chart);
std::string draw(const BarChart& chart);

// One entry per named curve, as markup that wraps.
std::string legend(const std::vector<Curve>& curves);

}  // namespace fwl
