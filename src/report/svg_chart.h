// Charts as inline SVG: line charts, and bars with error bars over groups. Colours come from the page's style.
#pragma once

#include <string>
#include <vector>

namespace fwl {

struct ChartPoint {
  double x = 0, y = 0;
};

struct Curve {
  enum class Look { line, faint, marked };  // faint: drawn behind the others, does not extend the range

  std::string name;
  std::vector<ChartPoint> points;
  size_t colour = 0;
  Look look = Look::line;
};

struct LineChart {
  std::string label;  // for screen readers
  std::string x_label, y_label;
  bool has_log_y = false;
  double highest_y = 0;  // clips values above; 0: no limit
  std::vector<Curve> curves;
};

struct Bar {
  std::string label, note;      // the note is a tooltip
  double value = 0, error = 0;  // error 0: unknown, drawn pale
};

struct BarChart {
  std::string label, x_label, y_label;
  std::vector<Bar> bars;
};

// Leaves out points that are not finite. Escapes all text.
std::string draw(const LineChart& chart);
std::string draw(const BarChart& chart);

// The legend, as HTML that wraps.
std::string legend(const std::vector<Curve>& curves);

}  // namespace fwl
