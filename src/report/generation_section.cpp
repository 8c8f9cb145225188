#include <fmt/format.h>

#include "report/sections.h"

namespace fwl {

std::string generation_section(const std::vector<GenerationSamples>& all, Captions& captions) {
  if (all.empty()) return {};
  std::string rows =
      "<thead><tr><th scope=\"col\">model</th><th>fast weights</th><th>samples</th><th>tokens</th><th>distinct-1</th>"
      "<th>distinct-2</th><th>distinct-3</th><th>distinct-4</th><th>repeated 4-grams</th></tr></thead>\n<tbody>\n";
  for (const auto& samples : all) {
    auto row = element("th", "scope=\"row\"", escape_html(samples.model));
    const auto cell = [&](const std::string& text) { row += element("td", "", text); };
    cell(escape_html(samples.adapt));
    cell(shown_count(samples.samples));
    cell(shown_count(samples.tokens));
    for (const double share : samples.distinct) cell(shown_number(share, 3));
    cell(fmt::format("{} % <small>± {}</small>", shown_number(100 * samples.repeated_4_grams, 2),
                     shown_number(100 * samples.repeated_4_error, 2)));
    rows += element("tr", "", row) + "\n";
  }
  const auto caption = captions.table(
      "How much generated texts repeat themselves, means over the samples: distinct n-grams over all n-grams of a "
      "sample, "
      "and the share of 4-grams that have come before in it, with its standard error.");
  return "<section>\n<h2>Generation</h2>\n" + table_figure("", rows + "</tbody>\n", caption) + "</section>\n";
}

}  // namespace fwl
