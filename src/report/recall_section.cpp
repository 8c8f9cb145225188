#include <fmt/format.h>

#include "report/recalled_terms.h"
#include "report/sections.h"
#include "report/text_line.h"

namespace fwl {
namespace {

constexpr size_t characters_before = 40;
constexpr int64_t tokens_before = 40;

std::string term_row(const RecalledTerm& term, const ScoredText& text) {
  return fmt::format("<tr><td>{} → {}</td><td>{}</td><td class=\"context\">{}<mark>{}</mark></td></tr>\n",
                     shown_number(term.before, 2), shown_number(term.after, 2), shown_count(term.distance),
                     one_line(text.text(term.first - tokens_before, term.first), characters_before, true),
                     escape_html(term.word));
}

std::string term_table(const std::vector<RecalledTerm>& terms, const ScoredText& text, int64_t count, const char* kind,
                       const std::string& caption) {
  std::string rows =
      "<thead><tr><th>probability</th><th>tokens ago</th><th class=\"context\">in context</th></tr></thead>\n<tbody>\n";
  for (size_t index = 0; index < std::min(terms.size(), static_cast<size_t>(count)); ++index)
    rows += term_row(terms[index], text);
  return table_figure(fmt::format("class=\"extremes {}\"", kind), rows + "</tbody>", caption);
}

}  // namespace

std::string recall_section(const NllPair& pair, const ScoredText& text, int64_t context_tokens, int64_t count,
                           Captions& captions) {
  const auto recall = recalled_terms(pair, text, context_tokens);
  if (recall.terms == 0) return {};
  const auto before = escape_html(pair.before_name), after = escape_html(pair.after_name);
  auto section = fmt::format(
      "<section>\n<h2>Names and terms from before the window</h2>\n<p class=\"lede\">{} times a word comes back that "
      "the "
      "model has read before its window of {} tokens and not yet in it. <b>{}</b> predicts {} of them, <b>{}</b> {}: "
      "{} "
      "that {} does not predict; {} are lost.</p>\n",
      shown_count(recall.terms), shown_count(context_tokens), before, shown_count(recall.before_predicts), after,
      shown_count(recall.after_predicts), recall.gained.size(), before, recall.lost.size());
  if (count == 0 || (recall.gained.empty() && recall.lost.empty())) return section + "</section>\n";
  section += "<div class=\"figures\">\n";
  section += term_table(
      recall.gained, text, count, "gains",
      captions.table(fmt::format("Predicted by {} alone: more than half of the probability. Words of at least four "
                                 "letters, rarer so far than one in 500 words.",
                                 after)));
  section += term_table(recall.lost, text, count, "losses", captions.table(fmt::format("By {} alone.", before)));
  return section + "</div>\n</section>\n";
}

}  // namespace fwl
