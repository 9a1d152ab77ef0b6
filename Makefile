# The commands of people and CI alike. `make help` lists those with a text behind `##`; the others are parts of these.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# maturin and mypy look here instead of at the machine's own Python.
export VIRTUAL_ENV := $(CURDIR)/.venv
PYTHON := .venv/bin/python
NODE_BIN := bindings-node/node_modules/.bin
PHP := php -d extension=$(CURDIR)/bindings-php/modules/ratelimit.so

# Tests run on builds without link-time optimization. What is measured or published is linked as a whole, as Cargo.toml
# says: these targets ask for it, for themselves and for what they build before.
export CARGO_PROFILE_RELEASE_LTO ?= off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS ?= 16
BENCHES := cache frameworks-node frameworks-php frameworks-python greenlets lease locks memory metrics partition script
BENCHES += start threads top
WHOLE := bench $(BENCHES:%=bench-%) compare scale survive package package-php dist
$(WHOLE): export CARGO_PROFILE_RELEASE_LTO := fat
$(WHOLE): export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 1

# Notes how a suite ended and how long it took, for the summary of all suites.
NOTED = python3 tools/suite.py $@
# Each suite has its own servers and a time limit: one that hangs is stopped, with all that it started. It is not part
# of this make, so cargo in it must not look for make's job slots.
BOUNDED := env -u MAKEFLAGS -u MFLAGS timeout --foreground --kill-after=30
WITH_SERVERS = $(NOTED) $(BOUNDED) 45m python3 tests/harness/with_servers.py --
# `make test` runs these. Any of them may run next to another, on a busy machine.
SUITES := test-rust test-python test-cli test-frameworks-php test-frameworks-python test-frameworks-node test-interop \
	test-node test-php test-page test-site test-elsewhere test-incident test-attack
# `make test-long` runs these: the first next to all the others, which run one after the other.
LONG_SUITES := test-faults test-bench test-long-rust test-long-elsewhere test-long-python test-long-cli test-long-node \
	test-long-page
# How many suites run at once, since they wait more than they work. The output of each is printed in one piece when it
# ends. All of them run, even if one fails, and find everything built.
TEST_JOBS ?= 3
PARTS := core python php node workers cli next
RUN_SUITES := $(MAKE) --no-print-directory --keep-going --output-sync=target \
	$(foreach part,$(PARTS),--assume-old=build-$(part)) --assume-old=setup
# `make test SUITE=name` runs these too, `make test` does not.
BY_HAND := test-faults test-bench test-frameworks test-php-memory test-php-addresses

# SUITE=name and PART=name select a target. ONLY=name selects in one: tests of a suite by their names, rows of a matrix.
# Of `bench`, `soak` and `figures` it selects a target: $(call picked,bench,build) is bench-name, or without ONLY `build`.
picked = $(if $(and $(ONLY),$(filter $(1),$(MAKECMDGOALS))),$(1)-$(ONLY),$(2))
OF_PYTEST = $(if $(ONLY),-k '$(ONLY)')
OF_PHPUNIT = $(if $(ONLY),--filter '$(ONLY)')
OF_NODE = $(if $(ONLY),--test-name-pattern='$(ONLY)')
OF_CARGO = $(if $(ONLY),-- $(ONLY))
ifneq ($(filter test test-long,$(MAKECMDGOALS)),)
$(if $(SUITE),,$(if $(ONLY),$(error ONLY names tests of one suite: add SUITE=...)))
endif

##@ Set up and build

.PHONY: setup
setup: ## Installs what is missing: Debian packages (as root), .venv/, node_modules/
	tools/setup.sh

.PHONY: build build-core build-python build-php build-node build-cli
build: $(if $(PART),build-$(PART),build-core build-python build-php build-node) ## Builds the core and the three packages (PART=node: one)

# The first target on a fresh machine finds what it needs; a set-up with nothing to do takes half a second.
build-core build-python build-php build-node build-cli lint-rust lint-python lint-php lint-node lint-lua: setup

build-core:
	cargo build --release -p quotalock

# Into .venv.
build-python:
	.venv/bin/maturin develop --release --quiet -m bindings-python/Cargo.toml

build-php:
	cargo build --release -p quotalock-php
	install -C -D target/release/libratelimit.so bindings-php/modules/ratelimit.so

build-node:
	npm run build --silent --prefix bindings-node

# The program, target/debug/quotalock.
build-cli:
	cargo build --quiet -p quotalock-cli

.PHONY: build-workers
# The workers of the tests that are written in Rust.
build-workers: setup
	cargo build --quiet -p quotalock-tests --example worker --example hostile_caller

# A build that pretends to be the next version, for the test of upgrades.
.PHONY: build-next
build-next: setup
	RUSTFLAGS='--cfg quotalock_next_format' cargo build --quiet --release --target-dir target/next \
		-p quotalock-python -p quotalock-php -p quotalock-node

.PHONY: surface scripts commands page-types
surface: ## Renews what is written from api/surface.toml: stubs, makers of locks, data of tests, reference
	python3 tools/api

scripts: ## Renews tests/spec/scripts, the text of every script as the server gets it
	cargo run --quiet -p quotalock --example scripts tests/spec/scripts

# The debug build is what tests/cli compares it with.
commands: build-cli page-types ## Renews docs/commands.md, the help of the program, and the types of its page
	python3 tools/commands.py target/debug/quotalock

# cli/src/serve/page/api.d.ts, the types of what `quotalock serve` sends its page.
page-types:
	QUOTALOCK_RENEW=1 cargo test --quiet -p quotalock-cli serve::api

.PHONY: clean
clean: ## Removes what was built, but not what was installed
	cargo clean --quiet
	rm -rf dist bindings-php/modules bindings-node/*.node .mypy_cache .pytest_cache .ruff_cache

##@ Check and test

ONE_SERVER := $(BOUNDED) 10m python3 tests/harness/with_servers.py --only redis-7.0 --
.PHONY: check
check: build-python build-php build-node lint ## Runs linters, unit tests and all vectors, in five minutes
	cargo test --quiet --workspace --lib --bins
	$(ONE_SERVER) cargo test --quiet -p quotalock-tests --test vectors
	$(ONE_SERVER) $(PYTHON) -m pytest -q tests/python/test_vectors.py
	$(ONE_SERVER) $(PHP) "$$(command -v phpunit)" -c tests/php --filter VectorsTest
	$(ONE_SERVER) node --test tests/node/vectors.test.mjs
	@echo 'make check: all passed'

LINTS := lint-imports lint-surface lint-rust lint-python lint-php lint-node lint-lua
.PHONY: lint $(LINTS)
lint: $(if $(PART),lint-$(PART),$(LINTS)) ## Checks style, types and scripts; a warning fails (PART=rust: one language)

# Imports in circles, and types that share a name.
lint-imports:
	python3 tools/imports.py
	python3 tools/type_names.py

# Files that are older than api/surface.toml.
lint-surface:
	python3 tools/api --check

lint-rust:
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps

lint-python:
	python3 tests/spec/check.py
	.venv/bin/ruff check --quiet .
	.venv/bin/ruff format --quiet --check .
	.venv/bin/mypy --no-error-summary bindings-python/python tools tests/harness tests/incident tests/installed tests/interop tests/faults tests/threads examples docs
	.venv/bin/mypy --no-error-summary tests/python
	.venv/bin/mypy --no-error-summary bench
	.venv/bin/mypy --no-error-summary tests/attack
	.venv/bin/mypy --no-error-summary tests/cli
	MYPYPATH=tests/frameworks/python .venv/bin/mypy --no-error-summary tests/frameworks/python

lint-php:
	phpcs

lint-node:
	$(NODE_BIN)/biome ci --colors=off --error-on-warnings
	$(NODE_BIN)/tsc --project tsconfig.json
	$(NODE_BIN)/tsc --project tsconfig.page.json

lint-lua:
	cargo run --quiet -p quotalock --example scripts target/lua
	luacheck --no-color --quiet --no-unused target/lua bench

# Runs the suites named by $(2) through the target $(1), $(3) at a time, and prints how each one ended.
define run_suites
	+@rm -rf target/suites; failed=0; $(RUN_SUITES) --jobs=$(3) $(1) || failed=1; \
	for suite in $(2); do \
		cat target/suites/$$suite 2>/dev/null || { printf '  %-22s did not end\n' $$suite; failed=1; }; \
	done; \
	if [ $$failed = 0 ]; then echo 'make $@: all passed'; else echo 'make $@: FAILED'; exit 1; fi
endef

.PHONY: test test-long suites long-suites $(SUITES) $(LONG_SUITES) $(BY_HAND)
test: $(if $(SUITE),test-$(SUITE),build build-workers build-cli) ## Runs the tests, in 25 minutes (SUITE=python ONLY=name: some)
	$(if $(SUITE),,$(call run_suites,suites,$(SUITES),$(TEST_JOBS)))

test-long: $(if $(SUITE),test-long-$(SUITE),build build-workers build-cli build-next) ## Runs the tests that take long (SUITE=python ONLY=name: some)
	$(if $(SUITE),,$(call run_suites,long-suites,$(LONG_SUITES),2))

suites: $(SUITES)
long-suites: $(LONG_SUITES)

# The core.
test-rust:
	$(WITH_SERVERS) cargo test --quiet --no-fail-fast $(OF_CARGO)

# Random cases are many: `make test` plays a share of them, these two suites all.
LONGER := 6
RANDOM := bounds bundles changes damage governor prefetch oracle twin twin_flight twin_lease twin_log twin_stock
test-long-rust:
	QUOTALOCK_TEST_LONGER=$(LONGER) $(WITH_SERVERS) bash -c '\
		cargo test --quiet --no-fail-fast -p quotalock-tests --test hostile --test lock_waits $(OF_CARGO) && \
		cargo test --quiet --no-fail-fast -p quotalock-tests --test all -- $(or $(ONLY),$(RANDOM:%=%::))'

# Lua 5.4 with the rules of rented servers, where scripts could differ: every vector, each script next to its twin, and
# the calls with the most arguments.
ELSEWHERE := every_vector $(addsuffix ::,bundles twin twin_lease twin_flight twin_stock widest)
ON_LUA54 = $(NOTED) $(BOUNDED) 30m $(PYTHON) tests/harness/lua54.py -- \
	cargo test --quiet --no-fail-fast -p quotalock-tests --test vectors --test all -- $(or $(ONLY),$(ELSEWHERE))
test-elsewhere: setup
	$(ON_LUA54)

test-long-elsewhere: setup
	QUOTALOCK_TEST_LONGER=$(LONGER) $(ON_LUA54)

# Tests with the marker `long` are left to `make test-long`. pytest alone runs both.
SHORT := -m 'not long'
test-python: build-python
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(SHORT) $(OF_PYTEST) tests/python

test-long-python: build-python
	$(WITH_SERVERS) $(PYTHON) -m pytest -q -m long $(OF_PYTEST) tests/python

test-php: build-php
	$(WITH_SERVERS) $(PHP) "$$(command -v phpunit)" -c tests/php $(OF_PHPUNIT)

# Under Valgrind.
test-php-memory: build-php
	tools/setup.sh valgrind
	$(WITH_SERVERS) $(PYTHON) tests/harness/php_memory.py $(PHP) "$$(command -v phpunit)" -c tests/php $(OF_PHPUNIT)

# With AddressSanitizer. Rust's compiler has it behind a switch that only this variable opens; C's brings what it needs
# to run.
test-php-addresses: setup
	host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address -Cforce-frame-pointers=yes' CARGO_PROFILE_RELEASE_LTO=off \
		cargo build --quiet --release -p quotalock-php --target $$host --target-dir target/asan; \
	$(WITH_SERVERS) $(PYTHON) tests/harness/php_addresses.py $(CURDIR)/target/asan/$$host/release/libratelimit.so \
		$(OF_PHPUNIT)

# These tests wait more than they work, so two files run at once on any machine.
test-node: build-node
	$(WITH_SERVERS) node --test --test-concurrency=2 $(OF_NODE) tests/node/*.test.*

# What these files play `often`, they play more often here.
LONG_NODE := charges processes unwinding
test-long-node: build-node
	QUOTALOCK_TEST_LONG=1 $(WITH_SERVERS) node --test $(OF_NODE) $(LONG_NODE:%=tests/node/%.test.mjs)

# The frameworks' own tests, ours and the examples, on the packages for frameworks.
test-frameworks: test-frameworks-php test-frameworks-python test-frameworks-node

test-frameworks-php: build-php
	tests/frameworks/php/fetch.sh
	QUOTALOCK_PHP='$(PHP)' $(WITH_SERVERS) tests/frameworks/php/run.sh $(ONLY)

# With the frameworks' own tests, of their own archives; what these need besides .venv has its own environment.
test-frameworks-python: build-python
	tests/frameworks/python/setup.sh
	$(WITH_SERVERS) tests/frameworks/python/run.sh $(ONLY)

test-frameworks-node: build-node
	tests/frameworks/node/setup.sh
	$(WITH_SERVERS) $(if $(ONLY),node --test $(OF_NODE) tests/frameworks/node/*.test.mjs,\
		bash -c 'node --test tests/frameworks/node/*.test.mjs && node tests/frameworks/node/upstream/run.mjs')

# The program. The libraries whose keys it must know are those of `make survive`.
test-cli: build-cli build-python build-php
	bench/peers/setup.sh
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(SHORT) $(OF_PYTEST) tests/cli

test-long-cli: build-cli build-python
	$(WITH_SERVERS) $(PYTHON) -m pytest -q -m long $(OF_PYTEST) tests/cli

# The page of `quotalock serve`, in Chromium. Each test starts its own servers. A browser may hang, hence the limit.
PAGE := $(BOUNDED) 30m node --test
test-page: build-cli build-python build-node
	$(NOTED) $(PAGE) $(OF_NODE) $(filter-out $(LONG_PAGE),$(wildcard tests/page/*.test.mjs))

# The page with 100,000 keys, and through a day of traffic.
LONG_PAGE := tests/page/many.test.mjs
test-long-page: build-cli build-python build-node
	$(NOTED) $(PAGE) $(OF_NODE) $(LONG_PAGE)

# The site of the documentation, in Chromium.
test-site: setup
	docs/.vitepress/install.sh
	$(NOTED) $(BOUNDED) 15m bash -c "npm run build --silent --prefix docs && node --test $(OF_NODE) tests/site/*.test.mjs"

# Processes of all languages on the same keys.
test-interop: build-python build-php build-node build-workers
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(OF_PYTEST) tests/interop

# Random calls, compared with an oracle for a minute: the same seeds each time, others by `make attack`.
test-attack: build-python
	$(WITH_SERVERS) $(PYTHON) tests/attack/run.py --seconds 60 --most 700

# Servers and processes that are killed, frozen and restarted.
test-faults: build build-workers build-next
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(OF_PYTEST) tests/faults

# Faults of clusters and Sentinels, TIMES as many. `make test-long` does not run it without SUITE=cluster.
TIMES ?= 20
CLUSTERS := $(addprefix tests/faults/test_,cluster.py cluster_locks.py sentinel.py herd.py)
.PHONY: test-long-cluster
test-long-cluster: build build-workers
	QUOTALOCK_TEST_LONGER=$(TIMES) $(PYTHON) -m pytest -q -s $(CLUSTERS) $(OF_PYTEST)

# The incident once more, shorter, the documents and the examples.
test-incident: build
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(OF_PYTEST) tests/incident

# Every measurement for an instant, so that the benchmarks do not rot.
test-bench: build
	$(NOTED) bash -c '$(PYTHON) bench/run.py --quick >/dev/null && $(PYTHON) bench/script.py --quick >/dev/null \
		&& $(PYTHON) bench/locks.py --quick >/dev/null && $(PYTHON) bench/cache.py --quick >/dev/null \
		&& $(PYTHON) bench/scale.py --quick >/dev/null && $(PYTHON) bench/lease.py --quick >/dev/null \
		&& $(PYTHON) bench/start.py --quick >/dev/null && $(PYTHON) bench/greenlets.py --quick >/dev/null \
		&& $(PYTHON) bench/threads.py --quick >/dev/null && $(PYTHON) bench/memory.py --quick >/dev/null && $(PYTHON) bench/metrics.py --quick >/dev/null \
		&& bench/peers/setup.sh && PYTHONPATH=bench $(PYTHON) -m compare --quick >/dev/null'

.PHONY: test-mutants
test-mutants: setup ## Plants faults, which tests must find (ONLY=lock: faults about a word)
	tests/frameworks/php/fetch.sh
	tests/frameworks/python/setup.sh
	tests/frameworks/node/setup.sh
	python3 tests/mutants/run.py $(ONLY)

# Another version makes other mutants.
.PHONY: mutants
mutants: MINUTES = 20
mutants: SEED = $(shell date +%j)
mutants: setup ## Changes the core's Rust code, which its unit tests must find (MINUTES=20 SEED=7; ONLY=core/src/key.rs)
	cargo install --quiet --locked --root target/tools cargo-mutants@27.1.0
	python3 tests/mutants/rust.py $(SEED) $(MINUTES) $(ONLY)

.PHONY: matrix
matrix: build build-workers ## Runs the suites on all supported versions (ONLY=node-24: one row)
	env -u MAKEFLAGS -u MFLAGS python3 tools/matrix.py $(ONLY)

SECONDS ?= 60
SEED ?= 1
.PHONY: attack
attack: build-python ## Compares random calls with an oracle (SECONDS=3600 SEED=2)
	python3 tests/harness/with_servers.py -- $(PYTHON) tests/attack/run.py --seconds $(SECONDS) --seed $(SEED)

# Flags that every toolchain has report what an input reaches; the build has its own target folder. What was found stays
# in target/fuzz, the seeds are in fuzz/seeds.
FUZZ := resp url policy stored topology
FUZZ_FLAGS := --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,\
	level=4 inline-8bit-counters pc-table trace-compares)
.PHONY: fuzz
fuzz: setup ## Feeds parsers with mutated inputs (SECONDS=1200 for each; ONLY=url: one parser)
	host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS='$(FUZZ_FLAGS)' cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target $$host --target-dir target/fuzz; \
	for target in $(or $(ONLY),$(FUZZ)); do \
		mkdir -p target/fuzz/corpus/$$target; \
		target/fuzz/$$host/release/$$target target/fuzz/corpus/$$target fuzz/seeds/$$target -max_total_time=$(SECONDS) \
			-max_len=4096 -timeout=10 -print_final_stats=1 -artifact_prefix=target/fuzz/$$target-; \
	done

MINUTES ?= 30
.PHONY: soak soak-cluster soak-page
soak: $(call picked,soak,soak-cluster) ## Loads a cluster that keeps failing; no memory may grow (MINUTES=30; ONLY=page: the page)

# DOCS=1 renews the plot in docs/images.
soak-cluster: build
	$(PYTHON) tests/harness/soak/soak_run.py --minutes $(MINUTES) $(if $(DOCS),--docs)

# A day of traffic in ten minutes: the memory of the page must not grow.
soak-page: build-cli build-node
	QUOTALOCK_PAGE_SOAK=10 $(PAGE) --test-name-pattern='a day of traffic' tests/page/many.test.mjs

##@ Measure

.PHONY: bench $(BENCHES:%=bench-%) compare scale survive
bench: $(call picked,bench,build) ## Measures Quotalock next to Redis clients (ONLY=script: a decision's cost at the server)
	$(if $(ONLY),,$(PYTHON) bench/run.py)

# How long readers of a stale value wait, next to a round trip and GET.
bench-cache: build
	$(PYTHON) bench/cache.py

# Over HTTP: express-rate-limit and @fastify/rate-limit next to what replaces them.
CONNECTIONS ?= 8
bench-frameworks-node: build-node
	tests/frameworks/node/setup.sh
	python3 tests/harness/with_servers.py -- python3 bench/frameworks_web.py node --connections $(CONNECTIONS)

# Laravel's throttle, Symfony's limiter and lock next to what replaces them.
bench-frameworks-php: build-php
	tests/frameworks/php/fetch.sh
	QUOTALOCK_FRAMEWORKS='laravel-10 symfony-6.4 psr-cache-3 psr-log-3 psr-simple-cache-3' \
		python3 tests/harness/with_servers.py -- bash -c '$(PHP) bench/frameworks.php && $(PYTHON) bench/frameworks_http.py'

# Over HTTP: flask-limiter, DRF's throttle and slowapi next to what replaces them.
bench-frameworks-python: build-python
	tests/frameworks/python/setup.sh
	python3 tests/harness/with_servers.py -- python3 bench/frameworks_web.py python

# The longest pause of other greenlets while one waits for a lock, under gevent.
bench-greenlets: build-python
	$(PYTHON) bench/greenlets.py

# Decisions per second and the server's CPU, with leased permits and without.
bench-lease: build
	$(PYTHON) bench/lease.py

# Locks next to their peers: pairs, waiting, who hears of a loss.
bench-locks: build
	$(PYTHON) bench/locks.py

# Decisions in this process, on memory://, next to their peers.
bench-memory: build
	$(PYTHON) bench/memory.py

# What counting costs: decisions per second with it and without.
bench-metrics: build
	$(PYTHON) bench/metrics.py

# How long clients need to follow a promotion while the old primary is cut off.
bench-partition: build
	$(PYTHON) bench/partition.py

# What a decision costs the server, next to a script written by hand.
bench-script: build-core
	$(PYTHON) bench/script.py

# What starting a program costs with the package and without, and the sizes of its files next to those of others.
bench-start: build
	$(PYTHON) bench/start.py

# Decisions per second of one thread and of two, with a GIL and without.
bench-threads: build-python
	$(PYTHON) bench/threads.py

# How long `quotalock top` takes on 100,000 keys, next to plain reading.
bench-top: setup
	cargo build --quiet --release -p quotalock-cli
	$(PYTHON) bench/top.py

# Half an hour on two cores that have nothing else to do.
ROUNDS ?= 5
ROUND_SECONDS ?= 1
compare: build ## Measures Quotalock next to other libraries, for docs/benchmarks.md (ONLY=locks,asyncio)
	bench/peers/setup.sh
	PYTHONPATH=bench $(PYTHON) -m compare --only '$(ONLY)' --rounds $(ROUNDS) --seconds $(ROUND_SECONDS)

# ADAPTER='python3 mine.py' is a library of yours.
survive: build ## Takes libraries through faults, for docs/survive.md (ONLY='limits ttl')
	bench/peers/setup.sh
	$(PYTHON) bench/survive/survive_run.py $(if $(ONLY),--only '$(ONLY)') $(if $(ADAPTER),--adapter '$(ADAPTER)')

scale: build ## Measures primaries, clusters, connections, memory and failovers, for docs/scaling.md
	$(PYTHON) bench/scale.py

##@ Release

# VitePress builds it from the Markdown in docs. Node is all that it needs.
.PHONY: docs
docs: ## Builds the site of the documentation into target/site/html; a dead link fails it
	docs/.vitepress/install.sh
	npm run build --silent --prefix docs

.PHONY: figures figures-guides figures-pictures
figures: $(call picked,figures,figures-guides) ## Renews tables and plots of the guides (ONLY=pictures: pictures of the page)

figures-guides: build-python
	$(PYTHON) docs/guide/plot_algorithms.py
	$(PYTHON) docs/guide/railroad.py
	$(PYTHON) docs/guide/figures.py

# SHOP_SECONDS=310: the shop has traffic for so long before.
figures-pictures: build-cli build-python build-node
	tools/setup.sh fonts-inter
	$(PAGE) tests/page/pictures.mjs

DIST ?= dist

.PHONY: package
package: build ## Puts the crate, wheel, npm package, PHP extension and program into dist/
	tools/package.sh
	$(MAKE) --no-print-directory package-php

.PHONY: dist
dist: setup ## Builds a release for all platforms into dist/release (ONLY=linux-x64-gnu: one platform)
	PYTHONPATH=tools $(PYTHON) -m dist $(ONLY)

.PHONY: check-dist
check-dist: setup ## Has auditwheel, abi3audit, twine, publint, attw and composer check what `make dist` built
	PYTHONPATH=tools $(PYTHON) -m dist.checks

.PHONY: test-dist
test-dist: setup ## Installs what `make dist` built and runs the vectors on it (ONLY=node-musl: one row)
	$(subst 10m,30m,$(ONE_SERVER)) env PYTHONPATH=tools:tests/installed $(PYTHON) tests/installed/installed.py $(ONLY)

.PHONY: release-check
release-check: setup ## Lists what a release needs, and whether it is there
	PYTHONPATH=tools $(PYTHON) -m dist.release_check

PHP_MODULE ?= bindings-php/modules/ratelimit.so
# The extension without symbols, the stub for IDEs, the README and the licence.
.PHONY: package-php
package-php: build-php
	rm -rf $(DIST)/php && mkdir -p $(DIST)/php
	strip --strip-unneeded -o $(DIST)/php/ratelimit.so $(PHP_MODULE)
	install -m 644 bindings-php/ratelimit.stub.php bindings-php/README.md LICENSE $(DIST)/php
	tar -czf $(DIST)/quotalock-php-$$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')-linux-$$(uname -m).tar.gz --owner=0 --group=0 -C $(DIST)/php ratelimit.so ratelimit.stub.php README.md LICENSE
	rm -r $(DIST)/php

##@ Look

.PHONY: demo
demo: build ## Shows the incident, the cure and a flash sale
	$(PYTHON) examples/demo/run.py

.PHONY: help
help: ## Lists the targets
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nValues of PART, of SUITE in make test and in make test-long, and of ONLY in make bench:\n'
	@printf '  %s\n' '$(PARTS)' '$(patsubst test-%,%,$(SUITES) $(BY_HAND))' \
		'$(patsubst test-long-%,%,$(filter test-long-%,$(LONG_SUITES) test-long-cluster))' '$(BENCHES)'
