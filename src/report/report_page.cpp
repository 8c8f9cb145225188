#include "report/report_page.h"

#include <optional>

#include "report/page_style.h"
#include "report/recalled_terms.h"
#include "report/sections.h"
#include "support/error.h"

namespace fwl {
namespace {

// The default comparison: a file's first method with its last.
struct Comparison {
  NllPair pair;
  int64_t window_tokens = 0;  // of the base, if fast weights carry across windows
};

std::optional<Comparison> compared_losses(const ReportOptions& options, const std::vector<EvaluationResult>& results) {
  auto before = options.before, after = options.after;
  for (const auto& result : results) {
    if (result.losses_path.empty()) continue;
    if (before.empty()) before = result.losses_path + ":" + result.methods.front().method;
    if (after.empty()) after = result.losses_path + ":" + result.methods.back().method;
    break;
  }
  if (before.empty() || after.empty() || before == after) return std::nullopt;
  Comparison comparison{load_pair(before, after), window_of(result_of_losses(loss_file_of(after)))};
  if (comparison.pair.ids.empty()) fail(before, "losses", "none");
  return comparison;
}

std::string comparison_sections(const ReportOptions& options, const Comparison& comparison, const GainCharts& charts,
                                Captions& captions) {
  const auto& pair = comparison.pair;
  auto sections = gain_section(pair, charts, captions);
  if (options.tokens.empty()) return sections;
  const ScoredText text(options.tokens, options.tokenizer, pair.data_hash);
  sections += recall_section(pair, text, comparison.window_tokens, options.top, captions);
  sections += extremes_section(pair, text, options.top, captions);
  return sections + passage_section(pair, text, options.passage_start, options.passage_tokens, captions);
}

}  // namespace

Report make_report(const ReportOptions& options) {
  if (options.tokens.empty() != options.tokenizer.empty())
    fail("report", "--tokens and --tokenizer together", options.tokens.empty() ? "only --tokenizer" : "only --tokens");
  const auto input = read_report_input(options.inputs);
  const auto comparison = compared_losses(options, input.results);
  if (!comparison && (!options.tokens.empty() || !options.train_tokens.empty()))
    fail("report", "losses of two methods (fwl perplexity --save-nll)", "none", "there is nothing to compare");
  Captions captions;
  // Separate statements, because captions are numbered in the order of the calls.
  auto sections = results_section(input.results, captions);
  sections += training_section(input.runs, captions);
  sections += generation_section(input.generations, captions);
  std::string picture;
  if (comparison) {
    const auto counts = options.train_tokens.empty() ? std::vector<int64_t>() : count_ids(options.train_tokens);
    const auto charts = gain_charts(comparison->pair, counts);
    sections += comparison_sections(options, *comparison, charts, captions);
    picture = gain_picture(charts);
  }
  sections += provenance_section(input, captions);
  return {html_page(options.title, sections), std::move(picture)};
}

}  // namespace fwl
