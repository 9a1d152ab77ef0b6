# One door for people and CI alike: `make help` lists what it does.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# maturin and mypy look here instead of at the machine's own Python.
export VIRTUAL_ENV := $(CURDIR)/.venv
PYTHON := .venv/bin/python
NODE_BIN := bindings-node/node_modules/.bin
PHP := php -d extension=$(CURDIR)/bindings-php/modules/ratelimit.so

# What tests run on is built fast. What is measured or published is linked as a whole, as Cargo.toml says: these targets
# ask for it, for themselves and for what they build before.
export CARGO_PROFILE_RELEASE_LTO ?= off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS ?= 16
WHOLE := bench bench-cache bench-frameworks-php bench-frameworks-python bench-frameworks-node bench-lease bench-locks \
	bench-memory bench-metrics bench-partition bench-script bench-top compare scale survive package package-php
$(WHOLE): export CARGO_PROFILE_RELEASE_LTO := fat
$(WHOLE): export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 1

# Notes how a suite ended and how long it took, for the summary of all.
SUITE = python3 tools/suite.py $@
# Each suite has servers of its own, and an end: one that hangs is stopped, with all that it started. It is not part
# of this make, so cargo in it must not look for make's job slots.
BOUNDED := env -u MAKEFLAGS -u MFLAGS timeout --foreground --kill-after=30
WITH_SERVERS = $(SUITE) $(BOUNDED) 45m python3 tests/harness/with_servers.py --
# `make test`: what a person who clones this runs. Any of these suites may run next to another, on a busy machine.
SUITES := test-rust test-python test-cli test-frameworks-php test-frameworks-python test-frameworks-node test-interop \
	test-node test-php test-page test-elsewhere test-incident test-attack
# `make test-long`: what takes long. The first runs next to all the others, one after the other.
LONG_SUITES := test-faults test-bench test-long-rust test-long-elsewhere test-long-python test-long-cli test-long-node test-long-page
# How many suites run at once, since they wait more than they work; the output of each is printed in one piece when it ends.
# All of them run, even if one fails, and find everything built.
TEST_JOBS ?= 3
RUN_SUITES := $(MAKE) --no-print-directory --keep-going --output-sync=target \
	$(foreach part,core python php node workers cli,--assume-old=build-$(part)) --assume-old=setup

.PHONY: help
help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Minutes, not more: what a change breaks is mostly found here.
ONE_SERVER := $(BOUNDED) 10m python3 tests/harness/with_servers.py --only redis-7.0 --
.PHONY: check
check: build-python build-php build-node lint ## Runs linters, unit tests, and every vector in four languages, in five minutes
	cargo test --quiet --workspace --lib --bins
	$(ONE_SERVER) cargo test --quiet -p quotalock-tests --test vectors
	$(ONE_SERVER) $(PYTHON) -m pytest -q tests/python/test_vectors.py
	$(ONE_SERVER) $(PHP) "$$(command -v phpunit)" -c tests/php --filter VectorsTest
	$(ONE_SERVER) node --test tests/node/vectors.test.mjs
	@echo 'make check: all passed'

.PHONY: setup
setup: ## Installs what is missing: Debian packages (as root), .venv/, node_modules/, crates
	tools/setup.sh

.PHONY: build build-core build-python build-php build-node build-cli
build: build-core build-python build-php build-node ## Builds the core and the three packages

# Whatever is asked for first on a fresh machine finds what it needs; a set-up with nothing to do takes half a second.
build-core build-python build-php build-node build-cli lint-rust lint-python lint-php lint-node lint-lua: setup

build-core: ## Builds the crate
	cargo build --release -p quotalock

build-python: ## Builds the Python package into .venv
	.venv/bin/maturin develop --release --quiet -m bindings-python/Cargo.toml

build-php: ## Builds the PHP extension, bindings-php/modules/ratelimit.so
	cargo build --release -p quotalock-php
	install -C -D target/release/libratelimit.so bindings-php/modules/ratelimit.so

build-node: ## Builds the Node package in bindings-node
	npm run build --silent --prefix bindings-node

build-cli: ## Builds the program for the person on call, target/debug/quotalock
	cargo build --quiet -p quotalock-cli

# Runs the suites named by $(2) through the target $(1), $(3) at a time, and prints how each one ended.
define run_suites
	+@rm -rf target/suites; failed=0; $(RUN_SUITES) --jobs=$(3) $(1) || failed=1; \
	for suite in $(2); do \
		cat target/suites/$$suite 2>/dev/null || { printf '  %-22s did not end\n' $$suite; failed=1; }; \
	done; \
	if [ $$failed = 0 ]; then echo 'make $@: all passed'; else echo 'make $@: FAILED'; exit 1; fi
endef

.PHONY: test test-long suites long-suites $(SUITES) $(LONG_SUITES)
test: build build-workers build-cli ## Runs the tests against real servers, in at most 25 minutes on two cores
	$(call run_suites,suites,$(SUITES),$(TEST_JOBS))

test-long: build build-workers build-cli ## Runs the tests that take long
	$(call run_suites,long-suites,$(LONG_SUITES),2)

suites: $(SUITES)
long-suites: $(LONG_SUITES)

test-rust: ## Runs the tests of the core
	$(WITH_SERVERS) cargo test --quiet --no-fail-fast

# Random cases are many: `make test` plays a share of them, and these two suites all.
LONGER := 6
RANDOM := bounds bundles changes damage governor leases oracle twin twin_flight twin_lease twin_log twin_stock
test-long-rust: ## Runs the random tests of the core with all their cases, and those that measure time
	QUOTALOCK_TEST_LONGER=$(LONGER) $(WITH_SERVERS) bash -c '\
		cargo test --quiet --no-fail-fast -p quotalock-tests --test hostile --test lock_waits && \
		cargo test --quiet --no-fail-fast -p quotalock-tests --test all -- $(RANDOM:%=%::)'

# Where scripts could differ: every vector, each script beside its twin, and the calls with the most arguments.
ELSEWHERE := every_vector $(addsuffix ::,bundles twin twin_lease twin_flight twin_stock widest)
ON_LUA54 = $(SUITE) $(BOUNDED) 30m $(PYTHON) tests/harness/lua54.py -- \
	cargo test --quiet --no-fail-fast -p quotalock-tests --test vectors --test all -- $(ELSEWHERE)
test-elsewhere: setup ## Runs the scripts in Lua 5.4, with the rules of servers that people rent
	$(ON_LUA54)

test-long-elsewhere: setup ## The same with all random cases
	QUOTALOCK_TEST_LONGER=$(LONGER) $(ON_LUA54)

# Tests with the marker `long` are left to `make test-long`. By itself pytest runs both.
SHORT := -m 'not long'
test-python: build-python ## Runs the tests of the Python package
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(SHORT) tests/python

test-long-python: build-python ## Runs those of them that take long
	$(WITH_SERVERS) $(PYTHON) -m pytest -q -m long tests/python

test-php: build-php ## Runs the tests of the PHP extension: ONLY=testNoCallLeaksMemory those of a name
	$(WITH_SERVERS) $(PHP) "$$(command -v phpunit)" -c tests/php $(if $(ONLY),--filter '$(ONLY)')

.PHONY: test-php-memory
test-php-memory: build-php ## Runs the tests of the PHP extension under Valgrind: ONLY=LocksTest those of a name
	tools/setup.sh valgrind
	$(WITH_SERVERS) $(PYTHON) tests/harness/php_memory.py $(PHP) "$$(command -v phpunit)" -c tests/php $(if $(ONLY),--filter '$(ONLY)')

# Rust's compiler has the sanitizer behind a switch that only this variable opens; C's brings what it needs to run.
.PHONY: test-php-addresses
test-php-addresses: setup ## Runs the tests of the PHP extension with AddressSanitizer: ONLY=LocksTest those of a name
	host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address -Cforce-frame-pointers=yes' CARGO_PROFILE_RELEASE_LTO=off \
		cargo build --quiet --release -p quotalock-php --target $$host --target-dir target/asan; \
	$(WITH_SERVERS) $(PYTHON) tests/harness/php_addresses.py $(CURDIR)/target/asan/$$host/release/libratelimit.so \
		$(if $(ONLY),--filter '$(ONLY)')

# They wait more than they work, so two files run at once wherever that is.
test-node: build-node ## Runs the tests of the Node package
	$(WITH_SERVERS) node --test --test-concurrency=2 tests/node/*.test.*

# What they play `often`, they play more often here.
LONG_NODE := charges processes unwinding
test-long-node: build-node ## Runs those of them longer that find by chance what is wrong
	QUOTALOCK_TEST_LONG=1 $(WITH_SERVERS) node --test $(LONG_NODE:%=tests/node/%.test.mjs)

.PHONY: test-frameworks
test-frameworks: test-frameworks-php test-frameworks-python test-frameworks-node ## Runs what frameworks test, and the examples, on the packages for frameworks

test-frameworks-php: build-php ## The same of PHP alone: ONLY=laravel-10 one run of them
	tests/frameworks/php/fetch.sh
	QUOTALOCK_PHP='$(PHP)' $(WITH_SERVERS) tests/frameworks/php/run.sh $(ONLY)

# Their own tests too, of their own archives; what these need beside .venv has an environment of its own.
test-frameworks-python: build-python ## The same of Python alone
	tests/frameworks/python/setup.sh
	$(WITH_SERVERS) tests/frameworks/python/run.sh

test-frameworks-node: build-node ## The same of Node alone
	tests/frameworks/node/setup.sh
	$(WITH_SERVERS) bash -c 'node --test tests/frameworks/node/*.test.mjs && node tests/frameworks/node/upstream/run.mjs'

# The libraries whose keys it must know are those of `make survive`.
test-cli: build-cli build-python build-php ## Runs the tests of the program for the person on call
	bench/peers/setup.sh
	$(WITH_SERVERS) $(PYTHON) -m pytest -q $(SHORT) tests/cli

test-long-cli: build-cli build-python ## Runs those of them that take long
	$(WITH_SERVERS) $(PYTHON) -m pytest -q -m long tests/cli

# Each test starts what it looks at. A browser may hang, so this has an end as the others.
PAGE := $(BOUNDED) 30m node --test
test-page: build-cli build-python build-node ## Runs the tests of the page of `quotalock serve`, in Chromium
	$(SUITE) $(PAGE) $(filter-out $(LONG_PAGE),$(wildcard tests/page/*.test.mjs))

# How the page does with 100,000 keys and in a day of traffic.
LONG_PAGE := tests/page/many.test.mjs
test-long-page: build-cli build-python build-node ## Runs those of them that take long
	$(SUITE) $(PAGE) $(LONG_PAGE)

# Not part of `make test`.
.PHONY: soak-page page-pictures
soak-page: build-cli build-node ## Plays a day of traffic to the page in ten minutes, to see that its memory does not grow
	QUOTALOCK_PAGE_SOAK=10 $(PAGE) --test-name-pattern='a day of traffic' tests/page/many.test.mjs

page-pictures: build-cli build-python build-node ## Takes the pictures of the page anew for the docs: SHOP_SECONDS=310 is how long the shop works before
	tools/setup.sh fonts-inter
	$(PAGE) tests/page/pictures.mjs

.PHONY: test-mutants
test-mutants: setup ## Plants the faults of tests/mutants one by one, and expects red tests: ONLY=lock those about a word
	tests/frameworks/php/fetch.sh
	tests/frameworks/python/setup.sh
	tests/frameworks/node/setup.sh
	python3 tests/mutants/run.py $(ONLY)

test-interop: build-python build-php build-node build-workers ## Runs processes of all languages on the same keys
	$(WITH_SERVERS) $(PYTHON) -m pytest -q tests/interop

# The same seeds wherever it runs; `make attack` tells others.
test-attack: build-python ## Tells random stories to an oracle and to every server, for a minute at most
	$(WITH_SERVERS) $(PYTHON) tests/attack/run.py --seconds 60 --most 700

# For as long as one likes.
SECONDS ?= 60
SEED ?= 1
.PHONY: attack
attack: build-python ## The same by hand: SECONDS=3600 SEED=2
	python3 tests/harness/with_servers.py -- $(PYTHON) tests/attack/run.py --seconds $(SECONDS) --seed $(SEED)

# Not part of `make test`. What an input reaches is told by flags of the compiler that every toolchain has; the build has
# a target folder of its own. What was found stays in target/fuzz, the seeds are in fuzz/seeds.
FUZZ := resp url policy stored topology
FUZZ_FLAGS := --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,\
	level=4 inline-8bit-counters pc-table trace-compares)
.PHONY: fuzz
fuzz: setup ## Feeds what reads bytes of others: SECONDS=1200 for each, ONLY=url one of resp, url, policy, stored, topology
	host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS='$(FUZZ_FLAGS)' cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target $$host --target-dir target/fuzz; \
	for target in $(or $(ONLY),$(FUZZ)); do \
		mkdir -p target/fuzz/corpus/$$target; \
		target/fuzz/$$host/release/$$target target/fuzz/corpus/$$target fuzz/seeds/$$target -max_total_time=$(SECONDS) \
			-max_len=4096 -timeout=10 -print_final_stats=1 -artifact_prefix=target/fuzz/$$target-; \
	done

# Not part of `make test`.
MINUTES ?= 30
.PHONY: soak
soak: build ## Load on a cluster that fails all along, to see that nothing grows: MINUTES=30, DOCS=1 renews the plot in docs
	$(PYTHON) tests/harness/soak/soak_run.py --minutes $(MINUTES) $(if $(DOCS),--docs)

test-bench: build ## Runs every measurement for an instant, so that the bench does not rot
	$(SUITE) bash -c '$(PYTHON) bench/run.py --quick >/dev/null && $(PYTHON) bench/script.py --quick >/dev/null \
		&& $(PYTHON) bench/locks.py --quick >/dev/null && $(PYTHON) bench/cache.py --quick >/dev/null \
		&& $(PYTHON) bench/scale.py --quick >/dev/null && $(PYTHON) bench/lease.py --quick >/dev/null \
		&& $(PYTHON) bench/memory.py --quick >/dev/null && $(PYTHON) bench/metrics.py --quick >/dev/null \
		&& bench/peers/setup.sh && PYTHONPATH=bench $(PYTHON) -m compare --quick >/dev/null'

.PHONY: build-workers
build-workers: setup ## Builds the workers of the tests that are written in Rust
	cargo build --quiet -p quotalock-tests --example worker --example hostile_caller

test-faults: build build-workers ## Kills, freezes and restarts what a limit or a lock depends on
	$(WITH_SERVERS) $(PYTHON) -m pytest -q tests/faults

# Not part of `make test`. Whatever happens to a cluster happens so many times more often.
TIMES ?= 20
CLUSTERS := $(addprefix tests/faults/test_,cluster.py cluster_locks.py sentinel.py herd.py)
.PHONY: test-cluster-long
test-cluster-long: build build-workers ## Bad days of clusters and Sentinels, made long and told in figures: TIMES=40, ONLY=killed
	QUOTALOCK_TEST_LONGER=$(TIMES) $(PYTHON) -m pytest -q -s $(CLUSTERS) $(if $(ONLY),-k '$(ONLY)')

test-incident: build ## Lives through the incident once more, shorter, and runs the examples
	$(WITH_SERVERS) $(PYTHON) -m pytest -q tests/incident

.PHONY: matrix
matrix: build build-workers ## Runs the suites on the versions people have: ONLY=node-24 one row of them
	env -u MAKEFLAGS -u MFLAGS python3 tools/matrix.py $(ONLY)

.PHONY: lint lint-imports lint-surface lint-rust lint-python lint-php lint-node lint-lua
lint: lint-imports lint-surface lint-rust lint-python lint-php lint-node lint-lua ## Checks style, types and scripts; a warning fails

lint-imports: ## Finds imports that go round in a circle, and types that share a name
	python3 tools/imports.py
	python3 tools/type_names.py

lint-surface: ## Finds files that api/surface.toml has outgrown
	python3 tools/api --check

lint-rust:
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps

lint-python:
	python3 tests/spec/check.py
	.venv/bin/ruff check --quiet .
	.venv/bin/ruff format --quiet --check .
	.venv/bin/mypy --no-error-summary bindings-python/python tools tests/harness tests/incident tests/interop tests/faults examples docs
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

.PHONY: demo compare bench bench-cache bench-frameworks-php bench-frameworks-python bench-frameworks-node bench-lease bench-locks bench-memory bench-metrics bench-partition bench-script bench-top scale survive docs scripts surface
surface: ## Renews what is written from api/surface.toml: stubs, makers of locks, data of tests, reference
	python3 tools/api

scripts: ## Renews tests/spec/scripts, the text of every script as the server gets it
	cargo run --quiet -p quotalock --example scripts tests/spec/scripts

demo: build ## Shows what it does, on a server of its own
	$(PYTHON) examples/demo/run.py

bench: build ## Measures it beside its peers: one table, one plot
	$(PYTHON) bench/run.py

# Half an hour on two cores that have nothing else to do.
ROUNDS ?= 5
ROUND_SECONDS ?= 1
compare: build ## Measures it beside the libraries that people use today, and makes docs/benchmarks.md: ONLY=locks,asyncio
	bench/peers/setup.sh
	PYTHONPATH=bench $(PYTHON) -m compare --only '$(ONLY)' --rounds $(ROUNDS) --seconds $(ROUND_SECONDS)

bench-cache: build ## Measures what readers of a stale value wait, beside a round trip and GET
	$(PYTHON) bench/cache.py

bench-lease: build ## Measures decisions a second and the server's CPU with leased permits and without
	$(PYTHON) bench/lease.py

bench-locks: build ## Measures locks beside their peers: pairs, waiting, who learns of a loss
	$(PYTHON) bench/locks.py

bench-frameworks-php: build-php ## Measures Laravel's throttle, Symfony's limiter and lock beside what replaces them
	tests/frameworks/php/fetch.sh
	QUOTALOCK_FRAMEWORKS='laravel-10 symfony-6.4 psr-cache-3 psr-log-3 psr-simple-cache-3' \
		python3 tests/harness/with_servers.py -- bash -c '$(PHP) bench/frameworks.php && $(PYTHON) bench/frameworks_http.py'

bench-frameworks-python: build-python ## Measures flask-limiter, DRF's throttle and slowapi beside what replaces them, over HTTP
	tests/frameworks/python/setup.sh
	python3 tests/harness/with_servers.py -- python3 bench/frameworks_web.py python

CONNECTIONS ?= 8
bench-frameworks-node: build-node ## Measures express-rate-limit and @fastify/rate-limit beside what replaces them, over HTTP
	tests/frameworks/node/setup.sh
	python3 tests/harness/with_servers.py -- python3 bench/frameworks_web.py node --connections $(CONNECTIONS)

bench-memory: build ## Measures decisions in this process, on memory://, beside their peers
	$(PYTHON) bench/memory.py

bench-metrics: build ## Measures what counting costs: decisions a second with it and without
	$(PYTHON) bench/metrics.py

bench-top: setup ## Measures how long `quotalock top` takes on 100,000 keys, next to plain reading
	cargo build --quiet --release -p quotalock-cli
	$(PYTHON) bench/top.py

bench-partition: build ## Measures how long clients need to follow a promotion while the old primary is cut off
	$(PYTHON) bench/partition.py

bench-script: build-core ## Measures what a decision costs the server, beside a script written by hand
	$(PYTHON) bench/script.py

scale: build ## Measures what docs/scaling.md tells: what a primary decides, clusters, connections, memory, failovers
	$(PYTHON) bench/scale.py

survive: build ## Takes us and our peers through bad days: ONLY='limits ttl' some of them, ADAPTER='python3 mine.py' your library
	bench/peers/setup.sh
	$(PYTHON) bench/survive/survive_run.py $(if $(ONLY),--only '$(ONLY)') $(if $(ADAPTER),--adapter '$(ADAPTER)')

docs: build-python ## Makes the picture and the measured tables of the guide anew
	$(PYTHON) docs/guide/plot_algorithms.py
	$(PYTHON) docs/guide/figures.py

DIST ?= dist

.PHONY: package clean
package: build ## Puts what would be published into dist/: crate, wheel, npm package, PHP extension, the program
	tools/package.sh
	$(MAKE) --no-print-directory package-php

PHP_MODULE ?= bindings-php/modules/ratelimit.so
# What whoever unpacks it needs: the extension without symbols, what IDEs read, how to use it, the licence.
.PHONY: package-php
package-php: build-php
	rm -rf $(DIST)/php && mkdir -p $(DIST)/php
	strip --strip-unneeded -o $(DIST)/php/ratelimit.so $(PHP_MODULE)
	install -m 644 bindings-php/ratelimit.stub.php bindings-php/README.md LICENSE $(DIST)/php
	tar -czf $(DIST)/quotalock-php-$$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')-linux-$$(uname -m).tar.gz --owner=0 --group=0 -C $(DIST)/php ratelimit.so ratelimit.stub.php README.md LICENSE
	rm -r $(DIST)/php

clean: ## Removes what was built, but not what was installed
	cargo clean --quiet
	rm -rf dist bindings-php/modules bindings-node/*.node .mypy_cache .pytest_cache .ruff_cache
