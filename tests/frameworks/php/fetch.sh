#!/usr/bin/env bash
# Fetches the frameworks with the tests that their authors wrote: Debian's source packages, which carry both, into
# target/frameworks/php. Nothing of them becomes part of Quotalock. What is there is not fetched again. Its arguments are
# further packages, each as one of the list below.
#
# Sources of two releases of Debian are asked for by an apt of its own; the machine's lists stay as they are.
set -euo pipefail
cd "$(dirname "$0")/../../.."
readonly home=$PWD/target/frameworks/php
readonly apt=$home/apt

# The folder, the source package, the release of Debian.
packages=(
  'symfony-5.4 symfony bookworm'
  'symfony-6.4 symfony trixie'
  'laravel-8 php-laravel-framework bookworm'
  'laravel-10 php-laravel-framework trixie'
  'monolog-3 php-monolog trixie'
  'psr-cache-3 php-psr-cache trixie'
  'psr-simple-cache-3 php-psr-simple-cache trixie'
  'psr-log-3 php-psr-log trixie'
  'wordpress wordpress bookworm'
  'cache-tests php-cache-integration-tests bookworm'
  "$@"
)

# What a mirror may still have whose index is ahead of its files: where it lies in the pool, and its hash.
declare -A before=(
  ['symfony trixie']='s/symfony/symfony_6.4.41+dfsg.orig.tar.xz cb5a93b47cbfea37894e6907bdcf2e75373ca10fc377c85a58c4aeaae11d6083'
)

ask() {
  "$@" -qq -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::SourceList="$apt/debian.list" -o Dir::State::Lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3
}

# Fetches the release of a package before the one that the index names.
fetch_before() {
  local path hash
  read -r path hash <<<"${before[$1]:-}"
  [[ -n $path ]] || return 1
  echo "fetch: ${path##*/} in place of what the index names"
  /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file "http://deb.debian.org/debian/pool/main/$path" \
    "$apt/download/${path##*/}" "SHA256:$hash"
}

missing() {
  local folder
  for package in "${packages[@]}"; do
    read -r folder _ <<<"$package"
    [[ -f $home/$folder/.complete ]] || printf '%s\n' "$package"
  done
}

# Two suites may ask at once.
mkdir -p "$home"
exec {lock}>"$home/.lock"
flock "$lock"
mapfile -t wanted < <(missing)
((${#wanted[@]} == 0)) && exit
command -v apt-get >/dev/null || { echo 'fetch: Debian only: the frameworks come from its source packages' >&2; exit 1; }
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
for release in bookworm trixie; do
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' $release
done >"$apt/debian.list"
ask apt-get update
for package in "${wanted[@]}"; do
  read -r folder source release <<<"$package"
  echo "fetch: $source of $release"
  rm -rf "${home:?}/$folder" "$apt/download" && mkdir -p "$home/$folder" "$apt/download"
  (cd "$apt/download" && ask apt-get source --tar-only --download-only "$source/$release") || fetch_before "$source $release"
  tar -xf "$apt"/download/*.orig.tar.* -C "$home/$folder" --strip-components=1
  touch "$home/$folder/.complete"
done
