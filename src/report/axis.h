// An axis of a chart: its range, the position of values, and ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace fwl {

std::string power_of_ten(int exponent);  // "10⁻³"

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
 public:
  // From low to high, which may be equal; logarithmic axes need values above 0.
  Axis(double low, double high, bool is_log = false);

  // The same, widened to round numbers.
  static Axis rounded(double low, double high, bool is_log = false);

  double low() const { return low_; }
  double high() const { return high_; }
  double place(double value) const;  // 0 at low, 1 at high
  std::vector<Tick> ticks() const;   // about five

 private:
  double low_, high_;
  bool is_log_;
};

}  // namespace fwl
