# The front door: `make demo` and `make test` do all set-up on a fresh Debian machine. `make help` lists the rest.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help build demo test bench fuzz format lint clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv/.build-ready: dependencies.toml scripts/setup.py
	@python3 scripts/setup.py build

.venv/.test-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py test

.venv/.lint-ready: dependencies.toml scripts/setup.py | .venv/.build-ready
	@python3 scripts/setup.py lint

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

bench: build .venv/.bench-ready  ## speed against the peers, in one run
	@$(PYTHON) benchmarks/run.py

fuzz:  ## mutated input files under AddressSanitizer, a million by default (INPUTS=n)
	@$(MAKE) --no-print-directory PRESET=asan build/asan/build.ninja
	@cmake --build build/asan --target fwl_fuzz
	@build/asan/fwl_fuzz --inputs $${INPUTS:-1000000}

format: .venv/.lint-ready  ## lay out every C++ file
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs clang-format -i

# clang cannot read g++'s precompiled header: its own configuration goes without. The files of a batch are analysed
# together, because most of the time goes into the engine's headers.
build/lint/build.ninja: .venv/.build-ready CMakePresets.json CMakeLists.txt
	@cmake --preset lint --log-level=WARNING

lint: .venv/.lint-ready build/lint/build.ninja  ## layout and static analysis
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
	@scripts/lint.py build/lint

clean:  ## remove what was built (.venv and downloaded data stay)
	@rm -rf build python/fwl/*.so
