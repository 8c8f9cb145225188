#include <fmt/format.h>

#include "report/sections.h"
#include "report/text_line.h"

namespace fwl {
namespace {

constexpr int64_t context_tokens = 40;
constexpr size_t context_characters = 24, after_characters = 8;

std::string marked_token(const std::string& text) {
  if (text == " ") return "␣";
  return one_line(text, context_characters, false);
}

std::string extreme_row(const NllPair& pair, const ScoredText& text, size_t place) {
  const int64_t target = pair.targets[place];
  return fmt::format("<tr><td>{}</td><td>{} → {}</td><td class=\"context\">{}<mark>{}</mark>{}</td></tr>\n",
                     shown_signed(static_cast<double>(pair.before[place]) - pair.after[place], 2),
                     shown_number(pair.before[place], 2), shown_number(pair.after[place], 2),
                     one_line(text.text(target - context_tokens, target), context_characters, true),
                     marked_token(text.text(target, target + 1)),
                     one_line(text.text(target + 1, target + 1 + context_tokens), after_characters, false));
}

std::string extremes_table(const NllPair& pair, const ScoredText& text, const std::vector<size_t>& places,
                           const char* kind, const std::string& caption) {
  std::string rows =
      "<thead><tr><th>gain</th><th>loss</th><th class=\"context\">in context</th></tr></thead>\n<tbody>\n";
  for (const auto place : places) rows += extreme_row(pair, text, place);
  return table_figure(fmt::format("class=\"extremes {}\"", kind), rows + "</tbody>", caption);
}

}  // namespace

std::string extremes_section(const NllPair& pair, const ScoredText& text, int64_t count, Captions& captions) {
  if (count == 0) return {};
  const auto found = extremes(pair, static_cast<size_t>(count));
  std::string section = "<section>\n<h2>Largest gains and losses</h2>\n<div class=\"figures\">\n";
  section += extremes_table(pair, text, found.gains, "gains", captions.table("Tokens that gained most, in nats."));
  section += extremes_table(pair, text, found.losses, "losses", captions.table("Tokens that lost most."));
  return section + "</div>\n</section>\n";
}

}  // namespace fwl
