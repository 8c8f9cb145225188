#include "train/carried_session.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "model/session_rows.h"
#include "support/error.h"

namespace fwl {

RowShare checked_share(const RankGroup& ranks, const char* where, int64_t rows) {
  if (rows < ranks.size())
    fail(where, fmt::format("at least one row for each of {} ranks", ranks.size()), std::to_string(rows),
         "rows are those of all ranks together");
  return ranks.share_of(rows);
}

void append_carried(TensorMap& tensors, const LanguageModel& model, const std::optional<Session>& carried, int64_t rows,
                    RankGroup& ranks) {
  if (!carried) return;
  if (ranks.size() == 1) return model.append_session(tensors, *carried);
  auto own = carried->clone();
  own.base = model.base().trimmed(own.base);  // to equal shapes on all ranks
  model.append_session(tensors,
                       map_rows(own, rows, [&](const at::Tensor& tensor) { return gather_rows(ranks, tensor, rows); }));
}

std::optional<Session> take_carried(TensorReader& reader, const LanguageModel& model, int64_t rows,
                                    const RankGroup& ranks) {
  if (!reader.has("base.numbers")) return std::nullopt;
  auto session = model.take_session(reader);
  if (session.sequences() != rows)
    fail(reader.path(), fmt::format("the state of {} lanes", rows), std::to_string(session.sequences()),
         "the file is damaged");
  if (ranks.size() == 1) return session;
  const auto share = ranks.share_of(rows);
  return session_rows(session, share.first, share.count);
}

}  // namespace fwl
