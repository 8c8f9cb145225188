#include "report/chart_frame.h"

#include <fmt/format.h>

#include "report/html.h"

namespace fwl {

ChartFrame::ChartFrame(std::string label, Axis x, Axis y, double below)
    : label_(std::move(label)), x_(x), y_(y), below_(below) {}

void ChartFrame::add_y_axis(const std::string& label) {
  for (const auto& tick : y_.ticks()) {
    const double place = y(tick.value);
    add(fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", left, width - right, place,
                    place));
    add(fmt::format(R"(<text class="tick end" x="{}" y="{:.1f}">{}</text>)", left - 7, place + 4, tick.label));
  }
  add(fmt::format(R"svg(<text class="axis" transform="translate(11 {}) rotate(-90)">{}</text>)svg",
                  top + plot_height / 2, escape_html(label)));
}

void ChartFrame::add_x_axis() {
  add(fmt::format(R"(<line class="rule" x1="{}" x2="{}" y1="{}" y2="{}"/>)", left, width - right, bottom(), bottom()));
  for (const auto& tick : x_.ticks()) {
    const double place = x(tick.value);
    add(fmt::format(R"(<line class="rule" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", place, place, bottom(),
                    bottom() + 4));
    add(fmt::format(R"(<text class="tick" x="{:.1f}" y="{}">{}</text>)", place, bottom() + 18, tick.label));
  }
}

void ChartFrame::add_x_label(const std::string& label) {
  add(fmt::format(R"(<text class="axis" x="{}" y="{}">{}</text>)", (left + width - right) / 2, bottom() + below_ - 4,
                  escape_html(label)));
}

std::string ChartFrame::finish() const {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>\n", width, bottom() + below_,
                     escape_html(label_), content_);
}

}  // namespace fwl
