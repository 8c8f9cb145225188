#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fwl {
namespace {

constexpr double wanted_ticks = 5;
constexpr double farthest = 1e100;  // keeps ranges and steps finite for any numbers from files

// 1, 2 or 5 times a power of ten.
double round_step(double range) {
  const double raw = range / wanted_ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double digit = raw / power;
  return power * (digit <= 1.5 ? 1 : digit <= 3.5 ? 2 : digit <= 7.5 ? 5 : 10);
}

std::string linear_label(double value, double step) {
  if (std::abs(value) < step / 2) return "0";
  if (step >= 1000) return fmt::format("{:g}k", value / 1000);
  const int digits = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fmt::format("{}{:.{}f}", value < 0 ? "−" : "", std::abs(value), digits);
}

}  // namespace

std::string power_of_ten(int exponent) {
  static constexpr const char* raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string label = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) label += raised[digit - '0'];
  return label;
}

Axis::Axis(double low, double high, bool is_log)
    : low_(std::clamp(low, is_log ? 1 / farthest : -farthest, farthest)),
      high_(std::clamp(high, low_, farthest)),
      is_log_(is_log) {
  const double widest = std::max(std::abs(low_), std::abs(high_));
  if (is_log_ && high_ < 1.02 * low_) {
    low_ /= 2;
    high_ *= 2;
  } else if (!is_log_ && high_ - low_ <= 1e-9 * widest) {
    low_ -= widest > 0 ? widest / 10 : 1;
    high_ += widest > 0 ? widest / 10 : 1;
  }
}

Axis Axis::rounded(double low, double high, bool is_log) {
  Axis axis(low, high, is_log);
  if (is_log) {
    axis.low_ = std::pow(10, std::floor(std::log10(axis.low_)));
    axis.high_ = std::pow(10, std::ceil(std::log10(axis.high_)));
  } else {
    const double step = round_step(axis.high_ - axis.low_);
    axis.low_ = std::floor(axis.low_ / step + 1e-9) * step;
    axis.high_ = std::ceil(axis.high_ / step - 1e-9) * step;
  }
  return axis;
}

double Axis::place(double value) const {
  if (is_log_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::vector<Tick> Axis::ticks() const {
  std::vector<Tick> ticks;
  if (is_log_) {
    const int first = static_cast<int>(std::ceil(std::log10(low_) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(high_) + 1e-9));
    const int every = std::max(1, (last - first + 5) / 6);
    for (int exponent = first; exponent <= last; exponent += every)
      ticks.push_back({std::pow(10, exponent), power_of_ten(exponent)});
    return ticks;
  }
  const double step = round_step(high_ - low_);
  const auto first = static_cast<int64_t>(std::ceil(low_ / step - 1e-9));
  for (int64_t number = first; static_cast<double>(number) * step <= high_ + 1e-9 * step; ++number)
    ticks.push_back({static_cast<double>(number) * step, linear_label(static_cast<double>(number) * step, step)});
  return ticks;
}

}  // namespace fwl
