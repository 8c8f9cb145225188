#include <fmt/format.h>

#include "report/sections.h"

namespace fwl {
namespace {

std::string fact(std::string_view name, const std::string& markup) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(name), markup);
}

std::string run_block(const TrainingRun& run) {
  auto facts = fact("seed", std::to_string(run.seed));
  for (const auto& data : run.data) {
    auto text = escape_html(data.path);
    if (data.tokens > 0) text += fmt::format(", {} tokens", shown_count(data.tokens));
    if (!data.hash.empty()) text += fmt::format(", <code>{}</code>", escape_html(data.hash));
    facts += fact(data.use + " data", text);
  }
  for (const auto& [name, value] : run.environment) facts += fact(name, escape_html(value));
  return fmt::format(
      "<h3>{}</h3>\n<dl>\n{}</dl>\n<p>Made by, with the settings below in <code>{}</code>:</p>\n"
      "<pre class=\"command\">{}</pre>\n<details><summary>All settings</summary><pre class=\"settings\">{}</pre>"
      "</details>\n",
      escape_html(run.path), facts, escape_html(run.settings_name()), escape_html(run.command()),
      escape_html(run.settings));
}

std::string results_table(const std::vector<EvaluationResult>& results, Captions& captions) {
  std::string rows;
  for (const auto& result : results) {
    auto model = escape_html(result.model);
    if (!result.adapter.empty()) model += "<br>" + escape_html(result.adapter);
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escape_html(result.path), model, shown_hash(result.identity), shown_hash(result.data_hash));
  }
  const auto head =
      "<thead><tr><th scope=\"col\">result</th><th>model</th><th>identity</th><th>data</th></tr></thead>\n<tbody>\n";
  return table_figure("class=\"texts\"", head + rows + "</tbody>",
                      captions.table("Where the results come from: identity is the hash of the model's weights and "
                                     "settings, data that of the token ids."));
}

}  // namespace

std::string provenance_section(const ReportInput& input, Captions& captions) {
  if (input.runs.empty() && input.results.empty()) return {};
  std::string section = "<section>\n<h2>Settings and data</h2>\n";
  if (!input.results.empty()) section += results_table(input.results, captions);
  for (const auto& run : input.runs) section += run_block(run);
  return section + "</section>\n";
}

}  // namespace fwl
