// The sections of a report as HTML; a section without content is empty.
#pragma once

#include <string>

#include "evaluate/analysis.h"
#include "report/html.h"
#include "report/report_input.h"
#include "report/scored_text.h"

namespace fwl {

// The table of all methods, with a summary sentence.
std::string results_section(const std::vector<EvaluationResult>& results, Captions& captions);

// Losses and step sizes by step.
std::string training_section(const std::vector<TrainingRun>& runs, Captions& captions);

// Repetition in generated samples.
std::string generation_section(const std::vector<GenerationSamples>& all, Captions& captions);

// The gain of one method over another by position, training frequency (empty without counts) and repetition.
struct GainCharts {
  std::string by_position, by_frequency, by_repetition;
};
GainCharts gain_charts(const NllPair& pair, const std::vector<int64_t>& training_counts);
std::string gain_section(const NllPair& pair, const GainCharts& charts, Captions& captions);
std::string gain_picture(const GainCharts& charts);  // a standalone SVG

// The tokens that gained and lost most, in context.
std::string extremes_section(const NllPair& pair, const ScoredText& text, int64_t count, Captions& captions);

// Names and terms from before the base's window of `context_tokens`, counted, with `count` examples; empty if there are
// none.
std::string recall_section(const NllPair& pair, const ScoredText& text, int64_t context_tokens, int64_t count,
                           Captions& captions);

// A passage with its tokens coloured by gain, from `start` on; -1: where the passage gains most.
std::string passage_section(const NllPair& pair, const ScoredText& text, int64_t start, int64_t tokens,
                            Captions& captions);

// Settings, hashes, versions, and the commands that repeat the runs.
std::string provenance_section(const ReportInput& input, Captions& captions);

}  // namespace fwl
