#include "fuzz/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

constexpr uint64_t most_input_bytes = 256U << 20;
constexpr int most_seconds = 30;

// Memory in use through operator new. The parsers are single-threaded; the watchdog takes none.
std::atomic<uint64_t> live_bytes = 0;
std::atomic<uint64_t> start_bytes = 0;  // when the present input began
std::atomic<uint64_t> peak_bytes = 0;
std::atomic<bool> is_guarded = false;

std::string target_name, input_path;
int64_t input_index = 0;
std::string_view input_bytes;
std::atomic<uint64_t> inputs_begun = 0;

// Called from a crash or from the watchdog: plain system calls only.
void keep_present_input(const char* reason) {
  if (!is_guarded.exchange(false)) return;
  const int file = open(input_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, input_bytes.data(), input_bytes.size()) >= 0) close(file);
  char line[512];
  const auto end = fmt::format_to_n(line, sizeof line, "{}: {} at input {}, kept as {}\n", target_name, reason,
                                    input_index, input_path);
  (void)!write(STDERR_FILENO, line, std::min(end.size, sizeof line));
}

void watch() {
  uint64_t last = 0;
  for (int seconds = 0;; ++seconds) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto now = inputs_begun.load();
    if (now != last || !is_guarded) seconds = 0;
    last = now;
    if (seconds < most_seconds) continue;
    keep_present_input("hang");
    _exit(1);
  }
}

void* take(std::size_t size) {
  const auto live = live_bytes.load(std::memory_order_relaxed), start = start_bytes.load(std::memory_order_relaxed);
  if (is_guarded.load(std::memory_order_relaxed) && (size > most_input_bytes || live + size > start + most_input_bytes))
    return nullptr;
  void* memory = std::malloc(size ? size : 1);
  if (!memory) return nullptr;
  const auto now = live_bytes.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  if (is_guarded.load(std::memory_order_relaxed) && now > start && now - start > peak_bytes) peak_bytes = now - start;
  return memory;
}

void* take_or_throw(std::size_t size) {
  if (void* memory = take(size)) return memory;
  throw std::bad_alloc();
}

void give(void* memory) {
  if (!memory) return;
  live_bytes.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

// The forms with an alignment are left as they are: they come in pairs of their own.
void* operator new(std::size_t size) {
  return take_or_throw(size);
}
void* operator new[](std::size_t size) {
  return take_or_throw(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void operator delete(void* memory) noexcept {
  give(memory);
}
void operator delete[](void* memory) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  give(memory);
}

#if defined(__SANITIZE_ADDRESS__)
// Undefined behaviour ends in a signal, because its sanitizer has no callback of its own.
extern "C" const char* __ubsan_default_options() {
  return "abort_on_error=1";
}
#endif

namespace fwl {

void start_guard() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback([] { keep_present_input("crash"); });
  constexpr int signals[] = {SIGABRT};  // the rest are the sanitizer's
#else
  constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#endif
  for (const int signal : signals)
    std::signal(signal, [](int number) {
      keep_present_input("crash");
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
  std::thread(watch).detach();
}

void guard_input(const std::string& target, int64_t index, std::string_view bytes) {
  unguard();
  if (target != target_name) {
    target_name = target;
    input_path = failing_input_path(target);
    peak_bytes = 0;
  }
  input_index = index;
  input_bytes = bytes;
  ++inputs_begun;
  start_bytes = live_bytes.load();
  is_guarded = true;
}

void unguard() {
  is_guarded = false;
}

std::string failing_input_path(const std::string& target) {
  return fmt::format("fuzz_failure_{}.bin", target);
}

uint64_t peak_input_bytes() {
  return peak_bytes;
}

}  // namespace fwl
