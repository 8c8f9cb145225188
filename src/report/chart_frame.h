// The part that all charts share: size, axes with ticks, grid and labels.
#pragma once

#include <string>

#include "report/axis.h"

namespace fwl {

class ChartFrame {
 public:
  static constexpr double width = 440, left = 58, right = 14, top = 10, plot_height = 200;

  // `below`: room for labels under the horizontal axis.
  ChartFrame(std::string label, Axis x, Axis y, double below);

  double x(double value) const { return left + x_.place(value) * (width - left - right); }
  double y(double value) const { return top + (1 - y_.place(value)) * plot_height; }
  static constexpr double bottom() { return top + plot_height; }

  void add(const std::string& markup) { content_ += markup; }
  void add_y_axis(const std::string& label);
  void add_x_axis();
  void add_x_label(const std::string& label);
  std::string finish() const;

 private:
  std::string label_, content_;
  Axis x_, y_;
  double below_;
};

}  // namespace fwl
