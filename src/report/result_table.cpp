#include "report/result_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/html.h"
#include "report/page_style.h"
#include "support/error.h"

namespace fwl {
namespace {

std::string shown_bits(double bits) {
  return bits > 0 ? shown_number(bits, 4) : "–";
}

std::string shown_change(const std::optional<LossDifference>& difference) {
  if (!difference) return {};
  auto text = shown_signed(100 * std::expm1(difference->mean), 1) + " %";
  if (difference->high)
    text += " ± " + shown_number(100 * (std::exp(*difference->high) - std::exp(difference->mean)), 1);
  return text;
}

// The cells of the table as text, for Markdown and HTML.
using Cells = std::vector<std::string>;
const Cells cost_heads = {"", "tok/s", "time", "peak memory"};

// The field reads bytes in bits per byte, words and pieces of words in perplexity: that comes first.
Cells result_heads(const ResultTable& table) {
  const std::string perplexity = "perplexity", bits = "bits per byte";
  const auto& [first, second] = table.is_bytes ? std::tie(bits, perplexity) : std::tie(perplexity, bits);
  return {"method", "seed", "training steps", first, "against " + table.against, second, "loss (nats)", "tokens"};
}

std::string shown_steps(const ResultRow& row) {
  return row.training_steps > 0 ? shown_count(row.training_steps) : "–";
}

Cells cells_of(const ResultTable& table, const ResultRow& row) {
  const auto perplexity = shown_number(row.result.perplexity, 3), bits = shown_bits(row.result.bits_per_byte);
  return {row.result.method,
          std::to_string(row.seed),
          shown_steps(row),
          table.is_bytes ? bits : perplexity,
          shown_change(row.difference),
          table.is_bytes ? perplexity : bits,
          shown_number(row.result.nll, 4),
          shown_count(row.result.tokens)};
}

// "1.982 (−29.6 % ± 0.5)"
std::string shown_result(const ResultTable& table, const ResultRow& row) {
  const auto value =
      table.is_bytes ? shown_number(row.result.bits_per_byte, 3) : shown_number(row.result.perplexity, 2);
  const auto change = shown_change(row.difference);
  return change.empty() ? value : fmt::format("{} ({})", value, change);
}

Cells cost_cells(const MethodResult& first, const MethodResult& cost) {
  return {cost.method, shown_rate(cost.tokens_per_second),
          shown_number(first.tokens_per_second / cost.tokens_per_second, 2) + "x", shown_bytes(cost.peak_bytes)};
}

std::vector<Cells> result_rows(const ResultTable& table) {
  std::vector<Cells> rows;
  for (const auto& row : table.rows) rows.push_back(cells_of(table, row));
  return rows;
}

std::vector<Cells> cost_rows(const ResultTable& table) {
  std::vector<Cells> rows;
  for (const auto& cost : table.costs) rows.push_back(cost_cells(table.costs.front(), cost));
  return rows;
}

// Mean and standard deviation over seeds, one line per method with several.
std::vector<std::string> spread_lines(const ResultTable& table) {
  std::map<std::string, std::vector<double>> losses;
  for (const auto& row : table.rows) losses[row.result.method].push_back(row.result.nll);
  std::vector<std::string> lines;
  for (const auto& [method, values] : losses) {
    if (values.size() < 2) continue;
    const auto count = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / count;
    for (const double value : values) squares += (value - mean) * (value - mean);
    lines.push_back(fmt::format("{}: {} seeds, {:.4f} ± {:.4f} nats (standard deviation)", method, values.size(), mean,
                                std::sqrt(squares / (count - 1))));
  }
  return lines;
}

std::string markdown_row(const Cells& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string markdown_table(const Cells& heads, const std::vector<Cells>& rows) {
  auto text = markdown_row(heads) + "|---|";
  for (size_t column = 1; column < heads.size(); ++column) text += "---:|";
  text += "\n";
  for (const auto& row : rows) text += markdown_row(row);
  return text;
}

std::string html_table(const Cells& heads, const std::vector<Cells>& rows, const std::string& caption) {
  std::string head, body;
  for (const auto& text : heads) head += element("th", "scope=\"col\"", escape_html(text));
  for (const auto& row : rows) {
    auto cells = element("th", "scope=\"row\"", escape_html(row.front()));
    for (size_t column = 1; column < row.size(); ++column) cells += element("td", "", escape_html(row[column]));
    body += element("tr", "", cells) + "\n";
  }
  return table_figure("", element("thead", "", element("tr", "", head)) + element("tbody", "", body), caption);
}

std::string cost_title(const ResultTable& table) {
  return fmt::format("Cost, on the {} model", table.cost_model);
}

// Without the charts' style, which the page has already.
std::string without_style(std::string picture) {
  const std::string start = "<style>", end = "</style>";
  const auto first = picture.find(start), last = picture.find(end);
  if (first != std::string::npos && last != std::string::npos) picture.erase(first, last + end.size() - first);
  return picture;
}

// Rows may differ: the range of their steps.
std::string most_steps(const ResultTable& table) {
  int64_t fewest = 0, most = 0;
  for (const auto& row : table.rows) {
    if (row.training_steps == 0) continue;
    fewest = fewest == 0 ? row.training_steps : std::min(fewest, row.training_steps);
    most = std::max(most, row.training_steps);
  }
  if (most == 0) return "–";
  return fewest == most ? shown_count(most) : fmt::format("{} to {}", shown_count(fewest), shown_count(most));
}

std::string overview_section(const OverviewEntry& entry, Captions& captions) {
  const auto& table = entry.table;
  auto section = element("h2", "", escape_html(entry.scale + ": " + table.name)) + "\n";
  section += element("p", "", element("code", "", escape_html(table.command))) + "\n";
  section += html_table(result_heads(table), result_rows(table),
                        captions.table("The change of perplexity is paired by token, with a 95 % interval from blocks "
                                       "of 256 tokens."));
  for (const auto& line : spread_lines(table)) section += element("p", "", escape_html(line)) + "\n";
  if (!table.costs.empty())
    section += html_table(cost_heads, cost_rows(table), captions.table(escape_html(cost_title(table)) + "."));
  if (!entry.picture.empty())
    section += "<figure class=\"wide\">\n" + without_style(entry.picture) +
               captions.figure(fmt::format("Gain of {} over static: by position, by frequency in training where it is "
                                           "known, by repetition.",
                                           escape_html(table.cost_model))) +
               "</figure>\n";
  if (!entry.page_link.empty())
    section += element(
        "p", "",
        element("a", "href=\"" + escape_html(entry.page_link) + "\"", "curves of training, the text coloured by gain"));
  return element("section", "", "\n" + section) + "\n";
}

}  // namespace

std::string to_markdown(const ResultTable& table) {
  auto text = fmt::format("## {}\n\n{}", table.name, markdown_table(result_heads(table), result_rows(table)));
  for (const auto& line : spread_lines(table)) text += "\n" + line + "\n";
  if (!table.costs.empty())
    text += fmt::format("\n{}:\n\n{}", cost_title(table), markdown_table(cost_heads, cost_rows(table)));
  return text;
}

std::string summary_markdown(const std::vector<ResultTable>& tables) {
  Cells heads = {"", "unit", "training steps"};
  for (const auto& table : tables)
    for (const auto& row : table.rows)
      if (std::ranges::find(heads, row.result.method) == heads.end()) heads.push_back(row.result.method);
  std::vector<Cells> lines;
  for (const auto& table : tables) {
    Cells line(heads.size(), "–");
    line[0] = table.name;
    line[1] = table.is_bytes ? "bits per byte" : "perplexity";
    line[2] = most_steps(table);
    for (const auto& row : table.rows) {
      if (row.seed != table.rows.front().seed) continue;
      const auto column = std::ranges::find(heads, row.result.method) - heads.begin();
      line[static_cast<size_t>(column)] = shown_result(table, row);
    }
    lines.push_back(std::move(line));
  }
  return markdown_table(heads, lines);
}

nlohmann::json to_json(const ResultTable& table) {
  auto rows = nlohmann::json::array(), costs = nlohmann::json::array();
  for (const auto& row : table.rows) {
    rows.push_back({{"seed", row.seed}, {"training_steps", row.training_steps}, {"result", to_json(row.result)}});
    if (row.difference) rows.back()["against_static"] = to_json(*row.difference);
  }
  for (const auto& cost : table.costs) costs.push_back(to_json(cost));
  return {{"table", table.name},
          {"command", table.command},
          {"is_bytes", table.is_bytes},
          {"against", table.against},
          {"rows", rows},
          {"cost_model", table.cost_model},
          {"costs", costs}};
}

ResultTable parse_result_table(const std::string& where, const nlohmann::json& json) {
  try {
    ResultTable table{.name = json.at("table"),
                      .command = json.at("command"),
                      .is_bytes = json.value("is_bytes", false),
                      .against = json.value("against", "static"),
                      .rows = {},
                      .cost_model = json.at("cost_model"),
                      .costs = {}};
    for (const auto& entry : json.at("rows")) {
      ResultRow row{entry.at("seed"), entry.value("training_steps", int64_t{0}), parse_method(entry.at("result")), {}};
      if (const auto found = entry.find("against_static"); found != entry.end())
        row.difference = parse_difference(*found);
      table.rows.push_back(row);
    }
    for (const auto& cost : json.at("costs")) table.costs.push_back(parse_method(cost));
    return table;
  } catch (const nlohmann::json::exception&) {
    fail(where, "a table of fwl reproduce", "JSON with other fields", "made by another version?");
  }
}

std::string make_overview(const std::vector<OverviewEntry>& entries) {
  Captions captions;
  std::string sections;
  for (const auto& entry : entries) sections += overview_section(entry, captions);
  return html_page("Results", sections);
}

}  // namespace fwl
