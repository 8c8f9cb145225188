# The front door: `make demo` and `make test` do all set-up on a fresh Debian machine. `make help` lists the rest.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help build demo test test-page bench fuzz fuzz-coverage fuzz-server format lint layout changed sanitize check clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/.build-ready: dependencies.toml scripts/setup.py
	@python3 scripts/setup.py build

.venv/.test-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py test

.venv/.lint-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py lint

.venv/.fuzz-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py fuzz

.venv/.page-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py page

.venv/.bench-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py bench

$(BUILD)/build.ninja: .venv/.build-ready CMakePresets.json
	@cmake --preset $(PRESET) --log-level=WARNING

build: $(BUILD)/build.ninja  ## compile the library, the program build/release/fwl and the Python module
	@cmake --build $(BUILD)

demo: build  ## a guided tour on real text
	@scripts/demo.sh $(BUILD)/fwl

test: build .venv/.test-ready  ## every test, C++ and Python
	@$(BUILD)/fwl_tests --gtest_brief=1
	@$(PYTHON) -m pytest -q -n 2 --dist worksteal tests/python

test-page: build .venv/.test-ready .venv/.page-ready  ## the page of fwl serve in Chromium; screenshots in build/page
	@$(PYTHON) -m pytest -q tests/python/test_serve_page.py

bench: build .venv/.bench-ready  ## speed against the peers, in one run
	@$(PYTHON) benchmarks/run.py

fuzz:  ## mutated input files under AddressSanitizer, a million by default (INPUTS=n)
	@$(MAKE) --no-print-directory PRESET=asan build/asan/build.ninja
	@cmake --build build/asan --target fwl_fuzz
	@build/asan/fwl_fuzz --inputs $${INPUTS:-1000000}

fuzz-coverage: .venv/.fuzz-ready  ## the same readers under libFuzzer, which looks for new code (EXECUTIONS=n)
	@$(MAKE) --no-print-directory PRESET=coverage build/coverage/build.ninja
	@cmake --build build/coverage --target fwl_fuzz_coverage
	@$(PYTHON) scripts/fuzz_coverage.py build/coverage/fwl_fuzz_coverage --executions $${EXECUTIONS:-1000000}

fuzz-server: build .venv/.test-ready  ## mutated requests to fwl serve under the sanitizers, 100,000 by default (REQUESTS=n)
	@$(MAKE) --no-print-directory PRESET=asan build/asan/build.ninja
	@cmake --build build/asan --target fwl_server
	@ASAN_OPTIONS=detect_leaks=0 $(PYTHON) tests/python/mutated_requests.py --program build/asan/fwl_server \
		--requests $${REQUESTS:-100000} --out build/asan/requests.json

format: .venv/.lint-ready  ## lay out every C++ file
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs clang-format -i

# clang cannot read g++'s precompiled header: its own configurations go without. Of everything, the files of a batch are
# analysed together, because most of the time goes into the engine's headers; changed files are analysed one by one.
build/lint/build.ninja build/lint-files/build.ninja: build/%/build.ninja: .venv/.build-ready CMakePresets.json CMakeLists.txt
	@cmake --preset $* --log-level=ERROR > build/$*.log 2>&1 || { cat build/$*.log; exit 1; }

lint: .venv/.lint-ready build/lint/build.ninja layout  ## layout and static analysis of every file
	@scripts/lint.py build/lint

layout: .venv/.lint-ready
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs ls -d 2> /dev/null | xargs clang-format --dry-run --Werror

# Changed against BASE; at most FILES of them, half a minute each.
changed: .venv/.lint-ready build/lint-files/build.ninja
	@scripts/lint.py build/lint-files --changed --base "$(BASE)" --limit $${FILES:-12}

# Leaks are not looked for: the engine keeps what it has allocated once.
sanitize:  ## the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory PRESET=asan build/asan/build.ninja
	@cmake --build build/asan --target fwl_tests
	@ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 build/asan/fwl_tests --gtest_brief=1

check: layout changed sanitize  ## before a push: layout, static analysis of changed files (BASE=revision), sanitizers

clean:  ## remove what was built (.venv and downloaded data stay)
	@rm -rf build python/fwl/*.so
