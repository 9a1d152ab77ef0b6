#!/usr/bin/env bash
# Runs the tests of the PHP packages for frameworks, on each version of those, with the servers that with_servers.py
# started: `run.sh [WORD]`, only the runs whose name has the word. PHP and its options are in QUOTALOCK_PHP.
set -euo pipefail
cd "$(dirname "$0")/../../.."

# The name, the suite, the folders of target/frameworks/php.
runs=(
  'symfony-5.4 symfony symfony-5.4'
  'symfony-6.4 symfony symfony-6.4 psr-cache-3 psr-log-3'
  'laravel-8 laravel laravel-8 symfony-5.4'
  'laravel-10 laravel laravel-10 symfony-6.4 monolog-3 psr-log-3 psr-cache-3 psr-simple-cache-3'
  'psr-1 psr symfony-5.4'
  'psr-3 psr symfony-6.4 psr-cache-3 psr-simple-cache-3'
  'wordpress wordpress wordpress'
)

failed=0
summary=()
for run in "${runs[@]}"; do
  read -r name suite folders <<<"$run"
  [[ $name == *"${1:-}"* ]] || continue
  echo "== $name"
  output=$(mktemp)
  # shellcheck disable=SC2086 # QUOTALOCK_PHP is a command with options.
  QUOTALOCK_FRAMEWORKS=$folders ${QUOTALOCK_PHP:-php} "$(command -v phpunit)" -c tests/frameworks/php --testsuite "$suite" \
    | tee "$output" || failed=1
  excluded=$(grep -c '^  excluded: ' "$output" || true)
  summary+=("$(printf '%-12s %s; %s of the frameworks'\'' tests excluded' "$name" "$(grep -E '^(OK \(|Tests: )' "$output" || echo 'did not end')" "$excluded")")
  rm "$output"
done
printf '%s\n' "${summary[@]}"
exit "$failed"
