# Front door; Meson and Ninja do the work. `make help` lists the targets.
BUILD ?= build
FUZZ_SECONDS ?= 60
MESON_FLAGS ?=

.DEFAULT_GOAL := all
.PHONY: all setup demo test test-all bench lint golden docs install deb wheel clean help test-asan test-tsan fuzz fuzz-api

all: $(BUILD)/build.ninja ## build libraries and tools
	@scripts/build $(BUILD)

setup: ## install missing packages (as root), or print the command that does
	@scripts/setup

# Ninja re-runs Meson by itself when a meson.build changes.
$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) $(MESON_FLAGS)

demo: all ## compile examples/*.cu without any SDK, run them on the CPU device, show what ran and how fast
	@scripts/demo $(BUILD)

test: $(BUILD)/build.ninja ## build and run the quick tests, some minutes
	@ninja -C $(BUILD) --quiet
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --no-suite slow || scripts/failed $(BUILD)

test-all: test ## and the slow ones: before a release
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --suite slow || scripts/failed $(BUILD)

bench: all ## compare the CPU device with PoCL and C + OpenMP
	@scripts/setup --bench
	@bench/run.py --build $(BUILD)

lint: all ## layers, format, banned constructs, stale generated files
	@scripts/lint

golden: $(BUILD)/build.ninja ## rewrite the expectations of the golden tests; review the diff
	@ninja -C $(BUILD) --quiet
	@HEDDLE_GOLDEN=update meson test -C $(BUILD) --no-rebuild --suite golden --print-errorlogs

docs: $(BUILD)/build.ninja ## regenerate what is made from tables
	@ninja -C $(BUILD) --quiet tests/codegen/binding
	@for gen in scripts/gen_*.py; do BUILD=$(BUILD) python3 $$gen || exit 1; done

install: all ## install libraries, headers and the heddle tool (DESTDIR is honoured)
	@meson install -C $(BUILD) --no-rebuild

deb: all ## make a Debian package in $(BUILD)
	@scripts/deb $(BUILD)

# A build of its own: it needs nothing of a system but the C library, and has a clang in it.
wheel: ## make a Python wheel in $(BUILD)-wheel: pip install it, then `heddle run python x.py`
	@scripts/setup --wheel
	@[ -e $(BUILD)-wheel/build.ninja ] || meson setup $(BUILD)-wheel -Dself_contained=true --prefix=/usr --libdir=lib $(MESON_FLAGS)
	@scripts/build $(BUILD)-wheel
	@scripts/wheel $(BUILD)-wheel

clean: ## remove all build directories
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-wheel

test-asan: setup ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/sanitize $(BUILD)-asan address,undefined

test-tsan: setup ## every test under ThreadSanitizer
	@scripts/sanitize $(BUILD)-tsan thread

fuzz: setup ## run each fuzz target for FUZZ_SECONDS
	@scripts/fuzz $(BUILD)-asan $(FUZZ_SECONDS)

fuzz-api: setup ## random API calls from 8 threads, FUZZ_SECONDS under each sanitizer
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/sanitize $(BUILD)-asan address,undefined -t 0 api_fuzz_many
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/sanitize $(BUILD)-tsan thread -t 0 api_fuzz_many

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
