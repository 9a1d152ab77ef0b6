#!/usr/bin/env bash
# Runs the tests of the PHP packages for frameworks, on each version of those, with the servers that with_servers.py
# started: `run.sh [WORD]`, only the runs whose name has the word. PHP and its options are in QUOTALOCK_PHP.
# `run.sh --newest` runs those that need PHP 8.4 instead.
#
# They wait most of the time, so they all run at once; the output of each is printed in one piece.
set -euo pipefail
cd "$(dirname "$0")/../../.."

# The name, the suite, the folders of target/frameworks/php.
newest=(
  'symfony-7.4 symfony symfony-7.4 polyfill-1 psr-cache-3 psr-log-3'
  'symfony-8.1 symfony symfony-8.1 polyfill-1 psr-cache-3 psr-clock-1 psr-log-3'
  'laravel-13 laravel laravel-13 symfony-8.1 polyfill-1 carbon-3 monolog-3 psr-log-3 psr-cache-3 psr-clock-1 psr-simple-cache-3'
)
runs=(
  'symfony-5.4 symfony symfony-5.4'
  'symfony-6.4 symfony symfony-6.4 psr-cache-3 psr-log-3'
  'symfony-7.4 symfony symfony-7.4 polyfill-1 psr-cache-3 psr-log-3'
  'laravel-8 laravel laravel-8 symfony-5.4'
  'laravel-10 laravel laravel-10 symfony-6.4 monolog-3 psr-log-3 psr-cache-3 psr-simple-cache-3'
  'laravel-11 laravel laravel-11 symfony-7.4 polyfill-1 carbon-3 monolog-3 psr-log-3 psr-cache-3 psr-clock-1 psr-simple-cache-3'
  'psr-1 psr symfony-5.4'
  'psr-3 psr symfony-6.4 psr-cache-3 psr-simple-cache-3'
  'wordpress wordpress wordpress'
)
if [[ ${1:-} == --newest ]]; then
  runs=("${newest[@]}")
  shift
fi

outputs=$(mktemp -d)
trap 'rm -r "$outputs"' EXIT
declare -A started=()
# Each run has a folder of its own in it: two that made the same at once would fail.
mkdir -p target/frameworks/php/adapted
for run in "${runs[@]}"; do
  read -r name suite folders <<<"$run"
  [[ $name == *"${1:-}"* ]] || continue
  # shellcheck disable=SC2086 # QUOTALOCK_PHP is a command with options.
  QUOTALOCK_RUN=$name QUOTALOCK_FRAMEWORKS=$folders ${QUOTALOCK_PHP:-php} "$(command -v phpunit)" -c tests/frameworks/php \
    --testsuite "$suite" >"$outputs/$name" 2>&1 &
  started[$name]=$!
done
((${#started[@]} > 0)) || { echo "run.sh: no run has \"$1\" in its name" >&2; exit 2; }

failed=0
summary=()
for run in "${runs[@]}"; do
  name=${run%% *}
  [[ -v started[$name] ]] || continue
  wait "${started[$name]}" || failed=1
  printf '== %s\n' "$name"
  cat "$outputs/$name"
  excluded=$(grep -ac '^  excluded: ' "$outputs/$name" || true)
  read -r _ _ framework _ <<<"$run"
  tests_of=target/frameworks/php/$framework/.tests-of
  of=''
  [[ ! -f $tests_of ]] || of=", which are those of $(<"$tests_of")"
  ending=$(grep -aE '^(OK \(|Tests: )' "$outputs/$name") || { ending='did not end'; failed=1; }
  summary+=("$(printf '%-12s %s; %s of the frameworks'\'' tests excluded%s' "$name" "$ending" "$excluded" "$of")")
done
printf '%s\n' "${summary[@]}"
exit "$failed"
