// Everything that a report is about, read from the paths that were named.
#pragma once

#include <string>
#include <vector>

#include "report/evaluation_result.h"
#include "report/generation_samples.h"
#include "report/training_run.h"

namespace fwl {

struct ReportInput {
  std::vector<TrainingRun> runs;
  std::vector<EvaluationResult> results;  // a result that was given as JSON and with its losses comes once
  std::vector<GenerationSamples> generations;
};

// A path is the folder of a run, a JSON result, a file of losses, or samples: what it is, its content says.
ReportInput read_report_input(const std::vector<std::string>& paths);

}  // namespace fwl
