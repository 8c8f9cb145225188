// Sessions in memory, over those on disk: the ones used last stay, and each is used by one job at a time.
#pragma once

#include <list>
#include <map>
#include <set>

#include "files/file_lock.h"
#include "sessions/session_files.h"

namespace fwl {

struct ShelfOptions {
  int64_t sessions = 64;  // in memory; more are loaded when they are used
  int64_t bytes = int64_t{4} << 30;
  std::string address;  // of this server, for the clients of others that find a session locked
};

// A session in use. Another server that changes the file makes the copy in memory worthless; the file's stamp tells.
struct TakenSession {
  SessionKey key;
  FileLock lock;
  StoredSession stored;
};

// Not thread-safe, but for files().
class SessionShelf {
 public:
  SessionShelf(SessionFiles files, ShelfOptions options, const LanguageModel& model, ContextOptions context);

  const SessionFiles& files() const { return files_; }
  Session new_session() const { return model_.new_session(1, context_); }

  FileLock lock(const SessionKey& key) const;  // throws SessionLocked
  // Throws SessionLocked. A session that does not exist yet is new, or NoSuchSession is thrown.
  TakenSession take(const SessionKey& key, bool creates);
  void save(TakenSession& taken);     // durable when it returns
  void put_back(TakenSession taken);  // unchanged since it was taken or saved
  void forget(const SessionKey& key);

  int64_t sessions() const { return static_cast<int64_t>(kept_.size()); }  // in memory and not in use
  int64_t bytes() const;

 private:
  struct Kept {
    SessionKey key;
    StoredSession stored;
    FileStamp stamp;
  };
  void evict();

  SessionFiles files_;
  ShelfOptions options_;
  const LanguageModel& model_;
  ContextOptions context_;
  std::list<Kept> kept_;  // used last first
};

}  // namespace fwl
