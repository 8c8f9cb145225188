// The state that lanes carry from batch to batch: a share of it on each rank, all of it in checkpoints.
#pragma once

#include <optional>

#include "model/language_model.h"
#include "parallel/rank_group.h"

namespace fwl {

// Throws a UserError unless there is a row for every rank; `where` names the setting.
RowShare checked_share(const RankGroup& ranks, const char* where, int64_t rows);

// Every rank calls it, with its share of the rows; a checkpoint does not depend on how many there are.
void append_carried(TensorMap& tensors, const LanguageModel& model, const std::optional<Session>& carried, int64_t rows,
                    RankGroup& ranks);
std::optional<Session> take_carried(TensorReader& reader, const LanguageModel& model, int64_t rows,
                                    const RankGroup& ranks);

}  // namespace fwl
