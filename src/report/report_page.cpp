#include "report/report_page.h"

#include <optional>

#include "report/page_style.h"
#include "report/sections.h"
#include "support/error.h"

namespace fwl {
namespace {

// What is compared where nothing is named: a file's first method with its last.
std::optional<NllPair> compared_losses(const ReportOptions& options, const std::vector<EvaluationResult>& results) {
  auto before = options.before, after = options.after;
  for (const auto& result : results) {
    if (result.losses_path.empty()) continue;
    if (before.empty()) before = result.losses_path + ":" + result.methods.front().method;
    if (after.empty()) after = result.losses_path + ":" + result.methods.back().method;
    break;
  }
  if (before.empty() || after.empty() || before == after) return std::nullopt;
  auto pair = load_pair(before, after);
  if (pair.ids.empty()) fail(before, "losses", "none");
  return pair;
}

std::string comparison_sections(const ReportOptions& options, const NllPair& pair, const GainCharts& charts,
                                Captions& captions) {
  auto sections = gain_section(pair, charts, captions);
  if (options.tokens.empty()) return sections;
  const ScoredText text(options.tokens, options.tokenizer, pair.data_hash);
  sections += extremes_section(pair, text, options.top, captions);
  return sections + passage_section(pair, text, options.passage_start, options.passage_tokens, captions);
}

}  // namespace

Report make_report(const ReportOptions& options) {
  if (options.tokens.empty() != options.tokenizer.empty())
    fail("report", "--tokens and --tokenizer together", options.tokens.empty() ? "only --tokenizer" : "only --tokens");
  const auto input = read_report_input(options.inputs);
  const auto pair = compared_losses(options, input.results);
  if (!pair && (!options.tokens.empty() || !options.train_tokens.empty()))
    fail("report", "losses of two methods (fwl perplexity --save-nll)", "none", "there is nothing to compare");
  Captions captions;
  // One statement each: captions are numbered in the order of the calls.
  auto sections = results_section(input.results, captions);
  sections += training_section(input.runs, captions);
  sections += generation_section(input.generations, captions);
  std::string picture;
  if (pair) {
    const auto counts = options.train_tokens.empty() ? std::vector<int64_t>() : count_ids(options.train_tokens);
    const auto charts = gain_charts(*pair, counts);
    sections += comparison_sections(options, *pair, charts, captions);
    picture = gain_picture(charts);
  }
  sections += provenance_section(input, captions);
  return {html_page(options.title, sections), std::move(picture)};
}

}  // namespace fwl
