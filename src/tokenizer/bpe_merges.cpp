#include "tokenizer/bpe_merges.h"

#include <algorithm>
#include <bit>

namespace fwl {
namespace {

// Up to this many symbols, a plain quadratic scan is faster than the heap.
constexpr size_t few_symbols = 100;

uint64_t pair_of(TokenId left, TokenId right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

BpeMerges::BpeMerges(size_t count)
    : table_(std::bit_ceil(2 * count + 2)), shift_(64 - std::countr_zero(table_.size())) {}

const BpeMerges::Merge* BpeMerges::find(TokenId left, TokenId right) const {
  const auto pair = pair_of(left, right);
  constexpr uint64_t golden = 0x9E3779B97F4A7C15U;
  for (size_t place = (pair * golden) >> shift_;; place = (place + 1) & (table_.size() - 1)) {
    const auto& merge = table_[place];
    if (merge.pair == pair || merge.pair == no_pair) return &merge;
  }
}

uint32_t BpeMerges::rank_of(TokenId left, TokenId right) const {
  const auto* merge = find(left, right);
  return merge->pair == no_pair ? no_rank : merge->rank;
}

bool BpeMerges::add(TokenId left, TokenId right, TokenId merged) {
  auto& place = const_cast<Merge&>(*find(left, right));
  if (place.pair != no_pair) return false;
  place = {pair_of(left, right), count_++, merged};
  return true;
}

void BpeMerges::apply(std::vector<TokenId>& ids, Workspace& workspace) const {
  if (ids.size() < 2) return;
  ids.size() <= few_symbols ? apply_to_few(ids, workspace) : apply_to_many(ids, workspace);
}

// ranks[i] is the rank of the pair (i, i + 1).
void BpeMerges::apply_to_few(std::vector<TokenId>& ids, Workspace& workspace) const {
  auto& ranks = workspace.ranks;
  ranks.resize(ids.size() - 1);
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = rank_of(ids[i], ids[i + 1]);
  while (!ranks.empty()) {
    const auto best = std::min_element(ranks.begin(), ranks.end());
    if (*best == no_rank) break;
    const auto i = static_cast<size_t>(best - ranks.begin());
    ids[i] = find(ids[i], ids[i + 1])->merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ranks.erase(best);
    if (i > 0) ranks[i - 1] = rank_of(ids[i - 1], ids[i]);
    if (i < ranks.size()) ranks[i] = rank_of(ids[i], ids[i + 1]);
  }
}

// Uses a linked list of symbols and a heap of pairs, and skips pairs whose symbols have changed since.
void BpeMerges::apply_to_many(std::vector<TokenId>& ids, Workspace& workspace) const {
  auto& symbols = workspace.symbols;
  auto& heap = workspace.heap;
  const auto count = static_cast<int32_t>(ids.size());
  symbols.resize(ids.size());
  for (int32_t i = 0; i < count; ++i) symbols[i] = {ids[i], i - 1, i + 1 < count ? i + 1 : -1};
  heap.clear();
  const auto is_later = [](const Workspace::Candidate& a, const Workspace::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto propose = [&](int32_t left) {
    const auto right = left < 0 ? -1 : symbols[left].behind;
    if (right < 0) return;
    const auto rank = rank_of(symbols[left].id, symbols[right].id);
    if (rank == no_rank) return;
    heap.push_back({rank, left, symbols[left].id, symbols[right].id});
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  for (int32_t i = 0; i + 1 < count; ++i) propose(i);
  constexpr TokenId gone = -1;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const auto candidate = heap.back();
    heap.pop_back();
    auto& left = symbols[candidate.left];
    if (left.id != candidate.left_id || left.behind < 0) continue;
    auto& right = symbols[left.behind];
    if (right.id != candidate.right_id) continue;
    left.id = find(left.id, right.id)->merged;
    right.id = gone;
    left.behind = right.behind;
    if (left.behind >= 0) symbols[left.behind].before = candidate.left;
    propose(left.before);
    propose(candidate.left);
  }
  ids.clear();
  for (int32_t i = 0; i >= 0; i = symbols[i].behind) ids.push_back(symbols[i].id);
}

}  // namespace fwl
