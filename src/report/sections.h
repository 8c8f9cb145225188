// The sections of a report, each as markup; one that has nothing to show is empty.
#pragma once

#include <string>

#include "evaluate/analysis.h"
#include "report/html.h"
#include "report/report_input.h"
#include "report/scored_text.h"

namespace fwl {

// The table of all methods, and the sentence that sums it up.
std::string results_section(const std::vector<EvaluationResult>& results, Captions& captions);

// Losses and step sizes by step.
std::string training_section(const std::vector<TrainingRun>& runs, Captions& captions);

// How much generated texts repeat themselves.
std::string generation_section(const std::vector<GenerationSamples>& all, Captions& captions);

// The gain of one method over another by position, frequency in training (without counts: empty) and repetition.
struct GainCharts {
  std::string by_position, by_frequency, by_repetition;
};
GainCharts gain_charts(const NllPair& pair, const std::vector<int64_t>& training_counts);
std::string gain_section(const NllPair& pair, const GainCharts& charts, Captions& captions);
std::string gain_picture(const GainCharts& charts);  // one that stands by itself

// The tokens that gained and lost most, in context.
std::string extremes_section(const NllPair& pair, const ScoredText& text, int64_t count, Captions& captions);

// A passage with its tokens coloured by gain: from `start` on, or (-1) where the gain over the passage is largest.
std::string passage_section(const NllPair& pair, const ScoredText& text, int64_t start, int64_t tokens,
                            Captions& captions);

// Settings, hashes, versions, and the commands that make it all again.
std::string provenance_section(const ReportInput& input, Captions& captions);

}  // namespace fwl
