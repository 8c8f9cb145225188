#include "sessions/embedding.h"

#include "engine/torch.h"
#include "model/token_stepper.h"

namespace fwl {

std::vector<float> mean_hidden_state(const LanguageModel& model, std::span<const TokenId> tokens) {
  auto context = model.base().default_context();
  if (context.context_tokens > 0) context.long_text = LongText::restart;
  auto session = model.new_session(1, context);
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const auto hidden = advance(model, at::tensor(ids, at::kLong).unsqueeze(0), session, Adaptation::off);  // 1,T,D
  const auto mean = hidden[0].to(at::kFloat).mean(0).contiguous().cpu();                                  // D
  return {mean.const_data_ptr<float>(), mean.const_data_ptr<float>() + mean.numel()};
}

}  // namespace fwl
