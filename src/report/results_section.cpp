#include <fmt/format.h>

#include <cmath>

#include "report/sections.h"
#include "support/error.h"

namespace fwl {
namespace {

std::optional<LossDifference> difference_to_first(const EvaluationResult& first, const EvaluationResult& result,
                                                  const MethodResult& method) {
  if (&first == &result) return method.difference;
  const auto& start = first.methods.front();
  if (first.data_hash != result.data_hash || start.tokens != method.tokens) return std::nullopt;
  if (!first.losses_path.empty() && !result.losses_path.empty())
    if (const auto paired =
            paired_difference(first.losses_path + ":" + start.method, result.losses_path + ":" + method.method))
      return paired;
  return LossDifference{method.nll - start.nll, {}, {}};
}

std::string difference_cell(const std::optional<LossDifference>& difference) {
  if (!difference) return "<td>–</td>";
  const auto interval = difference->low ? fmt::format(" <small>[{}, {}]</small>", shown_signed(*difference->low, 4),
                                                      shown_signed(*difference->high, 4))
                                        : std::string();
  const char* sign = !difference->high       ? ""
                     : *difference->high < 0 ? " class=\"better\""
                     : *difference->low > 0  ? " class=\"worse\""
                                             : "";
  return fmt::format("<td{}>{}{}</td>", sign, shown_signed(difference->mean, 4), interval);
}

double perplexity_change(double difference) {
  return 100 * std::expm1(difference);
}

std::string method_row(const MethodResult& first, const MethodResult& method,
                       const std::optional<LossDifference>& difference) {
  auto row = element("th", "scope=\"row\"", escape_html(method.method));
  const auto cell = [&](const std::string& text) { row += element("td", "", text); };
  cell(shown_count(method.tokens));
  cell(shown_number(method.nll, 4));
  cell(fmt::format("{} <small>± {}</small>", shown_number(method.perplexity, 4),
                   shown_number(method.perplexity_error, 3)));
  cell(method.bits_per_byte > 0 ? shown_number(method.bits_per_byte, 4) : "–");
  row += difference_cell(difference);
  cell(difference ? shown_signed(perplexity_change(difference->mean), 2) + " %" : "–");
  cell(shown_rate(method.tokens_per_second));
  cell(shown_number(first.tokens_per_second / method.tokens_per_second, 2));
  cell(shown_bytes(method.peak_bytes));
  return element("tr", "", row) + "\n";
}

std::string group_row(const EvaluationResult& result) {
  auto text = escape_html(result.model);
  if (!result.adapter.empty()) text += " + " + escape_html(result.adapter);
  auto manner = escape_html(result.protocol);
  if (result.context_tokens > 0)
    manner += fmt::format("{}context of {} tokens", manner.empty() ? "" : ", ", shown_count(result.context_tokens));
  if (!manner.empty()) text += fmt::format(" <small>{}</small>", manner);
  return fmt::format("<tr class=\"group\"><th colspan=\"10\" scope=\"rowgroup\"><div>{}</div></th></tr>\n", text);
}

struct BestRow {
  const EvaluationResult* result = nullptr;
  const MethodResult* method = nullptr;
  LossDifference difference;
};

std::string summary_sentence(const EvaluationResult& first, const BestRow& best) {
  const bool has_two_models = best.result && best.result != &first;
  const auto name = [&](const EvaluationResult& result, const MethodResult& method) {
    const auto of_model = has_two_models ? " of " + escape_html(result.model) : "";
    return fmt::format("<b>{}</b>{}", escape_html(method.method), of_model);
  };
  const auto value = [](const MethodResult& method) {
    return method.bits_per_byte > 0 ? shown_number(method.bits_per_byte, 3) + " bits per byte"
                                    : "perplexity " + shown_number(method.perplexity, 2);
  };
  const auto& start = first.methods.front();
  if (!best.method)
    return fmt::format("<p class=\"lede\">{} reaches {} on {} tokens.</p>\n", name(first, start), value(start),
                       shown_count(start.tokens));
  const double times = start.tokens_per_second / best.method->tokens_per_second;
  return fmt::format(
      "<p class=\"lede\">{} reaches {} on {} tokens, where {} has {}: a perplexity <b>{} %</b> lower{}.</p>\n",
      name(*best.result, *best.method), value(*best.method), shown_count(best.method->tokens), name(first, start),
      value(start), shown_number(-perplexity_change(best.difference.mean), 1),
      std::isfinite(times) ? fmt::format(", at {} times the time", shown_number(times, 2)) : "");
}

}  // namespace

std::string results_section(const std::vector<EvaluationResult>& results, Captions& captions) {
  if (results.empty()) return {};
  const auto& first = results.front();
  BestRow best;
  std::string rows;
  for (const auto& result : results) {
    rows += "<tbody>\n" + group_row(result);
    for (const auto& method : result.methods) {
      const auto difference = difference_to_first(first, result, method);
      rows += method_row(first.methods.front(), method, difference);
      if (difference && difference->mean < best.difference.mean) best = {&result, &method, *difference};
    }
    rows += "</tbody>\n";
  }
  const auto caption = captions.table(
      "Loss in nats per token, perplexity with its standard error, and the difference in nats to the first row: paired "
      "by token, with a 95 % interval from blocks of 256 tokens where the losses of both are on file. Time is relative "
      "to the first row; memory is the process's peak while the method ran. Methods that ran in one pass (--together) "
      "have "
      "no times of their own.");
  const auto head =
      "<thead><tr><th scope=\"col\">method</th><th>tokens</th><th>nll</th><th>perplexity</th><th>bits/byte</th>"
      "<th>difference</th><th>ppl</th><th>tok/s</th><th>× time</th><th>memory</th></tr></thead>\n";
  return "<section>\n<h2>Results</h2>\n" + summary_sentence(first, best) + table_figure("", head + rows, caption) +
         "</section>\n";
}

}  // namespace fwl
