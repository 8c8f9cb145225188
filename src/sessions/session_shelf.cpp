#include "sessions/session_shelf.h"

#include <algorithm>

#include "sessions/session_errors.h"

namespace fwl {

SessionShelf::SessionShelf(SessionFiles files, ShelfOptions options, const LanguageModel& model, ContextOptions context)
    : files_(std::move(files)), options_(std::move(options)), model_(model), context_(context) {}

FileLock SessionShelf::lock(const SessionKey& key) const {
  const auto path = files_.new_path(key);
  if (auto lock = FileLock::try_take(path, LockKind::exclusive, options_.address)) return std::move(*lock);
  auto server = FileLock::holder_of(path);
  if (!server.starts_with("http")) server.clear();  // a command line is nothing for clients
  throw SessionLocked(
      error_line("session", "one that is not in use",
                 "one in use " + (server.empty() ? "by another process" : "at " + server), "ask again later"),
      server);
}

TakenSession SessionShelf::take(const SessionKey& key, bool creates) {
  TakenSession taken{key, lock(key), {}};
  const auto stamp = files_.stamp(key);
  const auto found = std::ranges::find(kept_, key, &Kept::key);
  const bool is_current = found != kept_.end() && stamp == found->stamp;
  if (is_current) taken.stored = std::move(found->stored);
  if (found != kept_.end()) kept_.erase(found);
  if (is_current) return taken;
  if (stamp || !creates) {
    taken.stored = files_.load(key);
    taken.stored.session.base.context.has_bf16_cache = context_.has_bf16_cache;
  } else {
    taken.stored.session = new_session();
  }
  return taken;
}

void SessionShelf::save(TakenSession& taken) {
  files_.save(taken.key, taken.stored);
}

void SessionShelf::put_back(TakenSession taken) {
  const auto stamp = files_.stamp(taken.key);
  if (!stamp) return;
  kept_.push_front({taken.key, std::move(taken.stored), *stamp});
  evict();
}

void SessionShelf::forget(const SessionKey& key) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.key == key; });
}

int64_t SessionShelf::bytes() const {
  int64_t total = 0;
  for (const auto& kept : kept_) total += static_cast<int64_t>(kept.stored.session.bytes());
  return total;
}

void SessionShelf::evict() {
  while (!kept_.empty() && (sessions() > options_.sessions || bytes() > options_.bytes)) kept_.pop_back();
}

}  // namespace fwl
