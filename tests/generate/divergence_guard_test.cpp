#include "generate/divergence_guard.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/base_samples.h"
#include "memory/memory_config.h"
#include "support/fields.h"

namespace fwl {
namespace {

LanguageModel sample_model() {
  const auto base = sample_bases().front().model;
  MemoryChoice choice;
  Fields fields;
  add_fields(fields, choice);
  FreshWeights fresh(5);
  auto memory = choice.make({base->hidden_size(), *base->head(), fresh});
  return {base, std::move(memory)};
}

at::Tensor logits_after(const LanguageModel& model, const Session& session) {
  return model.next_logits(session).clone();
}

TEST(DivergenceGuard, RollsBackToTheLastStateThatReadWell) {
  const at::NoGradGuard no_grad;
  const auto model = sample_model();
  auto session = model.new_session();
  const auto read = [&] { model.read(at::randint(sample_vocabulary, {1, 8}, at::kLong), session); };
  read();
  DivergenceGuard guard(model, session);
  const double blind_guess = std::log(static_cast<double>(sample_vocabulary));
  read();
  EXPECT_FALSE(guard.check(100 * blind_guess, 100));  // a poor model, but no worse than a guess
  const auto hidden = session.last_hidden.clone();
  const auto good = logits_after(model, session);
  read();
  session.last_hidden = hidden;
  EXPECT_FALSE(at::equal(logits_after(model, session), good));
  EXPECT_TRUE(guard.check(100 * (blind_guess + 2), 100));
  EXPECT_TRUE(at::equal(logits_after(model, session), good));
  EXPECT_TRUE(guard.check(std::nan(""), 1));
  EXPECT_FALSE(guard.check(10 * (blind_guess + 5), 10));  // too few tokens to tell
}

}  // namespace
}  // namespace fwl
