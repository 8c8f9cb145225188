// Scores a text by several ranks: each reads the windows or documents of its part, and all get every loss.
#pragma once

#include <functional>

#include "evaluate/evaluation.h"
#include "parallel/rank_group.h"

namespace fwl {

// The parts of `parts` ranks as boundaries between pieces, `parts` + 1 of them. A part begins where reading begins anew
// for this method, so a text that is read in one go is one part, and the others are empty.
std::vector<size_t> divide(const std::vector<Piece>& pieces, const MethodOptions& method, int64_t parts);

// The series of `score`, called with this rank's pieces (none: not called), joined over all ranks. The losses are those
// of one process, bit for bit; seconds are those of the slowest rank, and belong to the pass, not to one of several
// series.
using ScorePieces = std::function<std::vector<NllSeries>(const std::vector<Piece>& pieces)>;
std::vector<NllSeries> score_divided(RankGroup& ranks, const std::vector<Piece>& pieces, const MethodOptions& method,
                                     const std::vector<std::string>& series_names, const ScorePieces& score);

}  // namespace fwl
