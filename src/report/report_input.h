// Reads the inputs of a report from their paths.
#pragma once

#include <string>
#include <vector>

#include "report/evaluation_result.h"
#include "report/generation_samples.h"
#include "report/training_run.h"

namespace fwl {

struct ReportInput {
  std::vector<TrainingRun> runs;
  std::vector<EvaluationResult> results;  // a result given both as JSON and with its losses appears once
  std::vector<GenerationSamples> generations;
};

// A path is a run folder, a JSON result, a file of losses, or samples; its content tells which.
ReportInput read_report_input(const std::vector<std::string>& paths);

}  // namespace fwl
