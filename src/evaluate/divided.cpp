#include "evaluate/divided.h"

#include <algorithm>

#include "engine/torch.h"
#include "support/measure.h"

namespace fwl {
namespace {

// What the losses of a piece depend on besides its tokens: the base's context, the fast weights, the changed weights.
bool starts_anew(const Piece& piece, const MethodOptions& method) {
  if (!piece.resets_base) return false;
  if (method.is_dynamic()) return piece.resets_fast && method.dynamic.reset;
  return piece.resets_fast || !method.adapts();
}

int64_t scored_tokens(const std::vector<Piece>& pieces, size_t first, size_t end) {
  int64_t tokens = 0;
  for (size_t index = first; index < end; ++index) tokens += pieces[index].scored();
  return tokens;
}

}  // namespace

std::vector<size_t> divide(const std::vector<Piece>& pieces, const MethodOptions& method, int64_t parts) {
  const int64_t all = scored_tokens(pieces, 0, pieces.size());
  std::vector<size_t> boundaries = {0};
  int64_t before = 0;  // tokens before a piece
  for (size_t index = 0; index < pieces.size(); ++index) {
    if (starts_anew(pieces[index], method))
      while (static_cast<int64_t>(boundaries.size()) < parts &&
             before * parts >= all * static_cast<int64_t>(boundaries.size()))
        boundaries.push_back(index);
    before += pieces[index].scored();
  }
  boundaries.resize(static_cast<size_t>(parts) + 1, pieces.size());
  return boundaries;
}

std::vector<NllSeries> score_divided(RankGroup& ranks, const std::vector<Piece>& pieces, const MethodOptions& method,
                                     const std::vector<std::string>& series_names, const ScorePieces& score) {
  if (ranks.size() == 1) return score(pieces);
  const auto boundaries = divide(pieces, method, ranks.size());
  const auto rank = static_cast<size_t>(ranks.rank());
  std::vector<NllSeries> own(series_names.size()), joined(series_names.size());
  const double seconds = seconds_of([&] {
    if (boundaries[rank] < boundaries[rank + 1])
      own = score({pieces.begin() + static_cast<std::ptrdiff_t>(boundaries[rank]),
                   pieces.begin() + static_cast<std::ptrdiff_t>(boundaries[rank + 1])});
    ranks.barrier();
  });
  for (size_t series = 0; series < joined.size(); ++series) {
    auto& whole = joined[series];
    whole.method = series_names[series];
    for (const auto& piece : pieces)
      for (int64_t offset = 0; offset < piece.scored(); ++offset) whole.targets.push_back(piece.first_scored + offset);
    whole.nll.resize(whole.targets.size());
    int64_t before = 0;
    for (size_t part = 0; part + 1 < boundaries.size(); ++part) {
      const int64_t count = scored_tokens(pieces, boundaries[part], boundaries[part + 1]);
      if (count == 0) continue;
      const auto losses = at::from_blob(whole.nll.data() + before, {count}, at::kFloat);
      if (part == rank) std::ranges::copy(own[series].nll, whole.nll.begin() + before);
      ranks.broadcast(losses, static_cast<int64_t>(part));
      before += count;
    }
    if (joined.size() > 1) continue;
    whole.seconds = seconds;
    whole.peak_bytes = peak_memory_bytes();
  }
  return joined;
}

}  // namespace fwl
