#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr int colour_levels = 6;  // the number of colours in the style, for gains and for losses
constexpr double half_colour_nats = 1.5;

double gain_at(const NllPair& pair, size_t index) {
  return static_cast<double>(pair.before[index]) - pair.after[index];
}

// The start of the `count` consecutive losses with the largest total gain, within one document if one is long enough.
size_t best_window(const NllPair& pair, size_t count) {
  double sum = 0, best_sum = 0, best_mixed_sum = 0;
  std::optional<size_t> best, best_mixed;
  for (size_t end = 1; end <= pair.before.size(); ++end) {
    sum += gain_at(pair, end - 1);
    if (end < count) continue;
    const size_t first = end - count;
    if (pair.stretches[first] == pair.stretches[end - 1] && (!best || sum > best_sum)) best = first, best_sum = sum;
    if (!best_mixed || sum > best_mixed_sum) best_mixed = first, best_mixed_sum = sum;
    sum -= gain_at(pair, first);
  }
  return best.value_or(best_mixed.value_or(0));
}

struct PieceLoss {
  double before = 0, after = 0;
  bool is_scored = false;
};

PieceLoss loss_of(const NllPair& pair, const TextPiece& piece) {
  PieceLoss loss;
  const auto first = std::ranges::lower_bound(pair.targets, piece.first);
  for (auto target = first; target != pair.targets.end() && *target < piece.first + piece.count; ++target) {
    const auto index = static_cast<size_t>(target - pair.targets.begin());
    loss.before += pair.before[index];
    loss.after += pair.after[index];
    loss.is_scored = true;
  }
  return loss;
}

std::string colour_of(double gain) {
  const auto level = static_cast<int>(std::lround(colour_levels * std::tanh(std::abs(gain) / half_colour_nats / 2)));
  return level == 0 ? std::string() : fmt::format(" class=\"{}{}\"", gain < 0 ? 'l' : 'g', level);
}

std::string coloured(const NllPair& pair, const TextPiece& piece) {
  const auto loss = loss_of(pair, piece);
  if (!loss.is_scored) return escape_html(piece.text);
  const double gain = loss.before - loss.after;
  return fmt::format("<span{} title=\"{} {:.3f}, {} {:.3f}, gain {:+.3f}\">{}</span>", colour_of(gain),
                     escape_html(pair.before_name), loss.before, escape_html(pair.after_name), loss.after, gain,
                     escape_html(piece.text));
}

std::string colour_scale() {
  std::string cells;
  for (int level = colour_levels; level > 0; --level) cells += fmt::format("<i class=\"l{}\"></i>", level);
  cells += "<i></i>";
  for (int level = 1; level <= colour_levels; ++level) cells += fmt::format("<i class=\"g{}\"></i>", level);
  return "<p class=\"scale\"><span>loss</span>" + cells + "<span>gain</span><output></output></p>\n";
}

}  // namespace

std::string passage_section(const NllPair& pair, const ScoredText& text, int64_t start, int64_t tokens,
                            Captions& captions) {
  if (start >= text.size())
    fail("--passage-start", fmt::format("a token of the text, at most {}", text.size() - 1), std::to_string(start));
  const bool is_chosen = start < 0;
  const auto count = std::min(static_cast<size_t>(tokens), pair.targets.size());
  if (is_chosen) start = pair.targets[best_window(pair, count)];
  std::string passage;
  for (const auto& piece : text.pieces(start, start + tokens)) passage += coloured(pair, piece);
  const auto caption =
      captions.figure(fmt::format("{} tokens from token {} on{}. Blue: {} predicts the token better than {}, orange: "
                                  "worse; the colour is full from "
                                  "about five nats on. Point at a token for both losses.",
                                  tokens, shown_count(start), is_chosen ? ", the passage with the largest gain" : "",
                                  escape_html(pair.after_name), escape_html(pair.before_name)));
  return "<section>\n<h2>A passage, token by token</h2>\n<figure class=\"wide\">\n" + colour_scale() +
         "<div class=\"passage\">" + passage + "</div>\n" + caption + "</figure>\n</section>\n";
}

}  // namespace fwl
