#!/usr/bin/env bash
# Installs what the build, the lint and the tests need, and nothing that is already there: `setup.sh [PACKAGE ...]`, with
# further Debian packages.
#
# Each step looks first and touches the network only when something is missing, so a second run takes
# well under a second. Python packages go into .venv/, Node packages into bindings-node/node_modules/.
set -euo pipefail
cd "$(dirname "$0")/.."

apt_packages=(
  build-essential pkg-config libclang-dev openssl strace # compilers, and bindgen for ext-php-rs
  php8.2-cli php8.2-dev php8.2-fpm php8.2-redis                      # the extension, and phpredis to check against
  redis-server                                                       # Redis 7.0
  postgresql php8.2-pgsql php8.2-sqlite3                             # what fencing tokens protect, in the examples
  nginx siege wrk                                                    # load through php-fpm
  php-symfony-lock                                                   # a peer of make bench ONLY=locks
  php-symfony-cache php-illuminate-cache php-illuminate-redis        # peers of the test of stampedes
  phpunit lua-check php-codesniffer                                  # tests of the extension, linters
  prometheus                                                         # promtool, which reads and tries the rules in deploy
  chromium                                                           # tests of the page of quotalock serve
  # What the frameworks need whose tests run on our packages.
  composer php-doctrine-inflector php-graham-campbell-result-type php-mockery php-monolog php-nesbot-carbon php-nyholm-psr7
  php-phpoption php-psr-cache php-psr-container php-psr-event-dispatcher php-psr-http-factory php-psr-http-message
  php-psr-log php-psr-simple-cache php-ramsey-uuid php-vlucas-phpdotenv
  "$@"
)

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Rust, Node and Python come with the machine: which toolchain to have is its owner's choice, not ours.
require_toolchains() {
  local missing=()
  command -v cargo >/dev/null || missing+=("cargo (Rust 1.88 or later, by rustup)")
  cargo clippy --version >/dev/null 2>&1 || missing+=("clippy (rustup component add clippy)")
  cargo fmt --version >/dev/null 2>&1 || missing+=("rustfmt (rustup component add rustfmt)")
  node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2>/dev/null || missing+=("node 20 or later")
  command -v npm >/dev/null || missing+=("npm")
  python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    missing+=("python3 3.10 or later with venv")
  ((${#missing[@]} == 0)) && return
  printf 'setup: this machine lacks %s\n' "${missing[@]}" >&2
  exit 1
}

missing_apt_packages() {
  local package
  for package in "${apt_packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

# Debian starts a daemon as soon as its package is unpacked. The tests start their own servers, so for the length of
# the install policy-rc.d forbids it (this also lets packages install where there is no init system).
without_daemons() {
  local policy=/usr/sbin/policy-rc.d saved='' status=0
  [[ -e $policy ]] && saved=$(mktemp) && cp -p "$policy" "$saved"
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  "$@" || status=$?
  if [[ -n $saved ]]; then mv "$saved" "$policy"; else rm -f "$policy"; fi
  return "$status"
}

install_system() {
  local packages
  if ! command -v dpkg-query >/dev/null; then
    die "this is not Debian: install the equivalents of these yourself: ${apt_packages[*]}"
  fi
  mapfile -t packages < <(missing_apt_packages)
  ((${#packages[@]} == 0)) && return
  say "missing Debian packages: ${packages[*]}"
  [[ $(id -u) == 0 ]] || die "not root: run 'apt-get install ${packages[*]}' as root, then 'make setup' again"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  without_daemons apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null >/dev/null
}

# A stamp lies inside what it vouches for, so deleting the folder deletes the stamp.
is_current() { [[ -f $1 && $(cat "$1") == "$(sha256sum "${@:2}" | sha256sum)" ]]; }
stamp() { sha256sum "${@:2}" | sha256sum >"$1"; }

install_python() {
  is_current .venv/.stamp requirements-dev.txt && return
  say "Python packages into .venv"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.txt
  .venv/bin/python -m pip check --quiet
  stamp .venv/.stamp requirements-dev.txt
}

install_node() {
  local locks=(bindings-node/package.json bindings-node/package-lock.json)
  is_current bindings-node/node_modules/.stamp "${locks[@]}" && return
  say "Node packages into bindings-node/node_modules"
  # Not `npm ci`: it refuses a lock without the binaries of other platforms, which not every registry serves.
  # This keeps to the lock just as well, and --no-save leaves the file as it is.
  npm install --prefix bindings-node --no-save --no-fund --no-audit --loglevel=error </dev/null >/dev/null
  stamp bindings-node/node_modules/.stamp "${locks[@]}"
}

# Tests and examples import packages by name, as a user does: Node looks for them in node_modules/ above the file.
link_node() {
  local package
  mkdir -p node_modules
  ln -sfn ../bindings-node node_modules/quotalock
  for package in ioredis redis-semaphore @opentelemetry @sinonjs @types playwright-core axe-core; do
    ln -sfn "../bindings-node/node_modules/$package" "node_modules/$package"
  done
}

install_crates() {
  cargo fetch --locked --offline >/dev/null 2>&1 && return
  say "crates"
  cargo fetch --locked --quiet
}

require_toolchains
install_system
install_python
install_node
link_node
install_crates
say "everything is there"
