#!/usr/bin/env bash
# Fetches the frameworks with the tests that their authors wrote: Debian's source packages, which carry both, into
# target/frameworks/php. Nothing of them becomes part of Quotalock. What is there is not fetched again.
# `fetch.sh [--newest] [PACKAGE ...]`: with those that need PHP 8.4, and with further packages, each as one of the list.
#
# A mirror's index may be ahead of its source packages. Then the packages that were built from them are fetched, which
# have no tests: the tests of an earlier version run instead, and run.sh says so.
#
# An apt of its own knows the releases of Debian; the machine's lists stay as they are.
set -euo pipefail
cd "$(dirname "$0")/../../.."
readonly home=$PWD/target/frameworks/php
readonly apt=$home/apt

# The folder, the source package, the releases of Debian that may have it, the first that does first.
newest=()
if [[ ${1:-} == --newest ]]; then
  newest=('symfony-8.1 symfony experimental sid' 'laravel-13 php-laravel-framework sid forky')
  shift
fi
packages=(
  'symfony-5.4 symfony bookworm'
  'symfony-6.4 symfony trixie'
  'symfony-7.4 symfony sid forky'
  'laravel-8 php-laravel-framework bookworm'
  'laravel-10 php-laravel-framework trixie'
  'laravel-11 php-laravel-framework'
  'polyfill-1 php-symfony-polyfill sid forky'
  'monolog-3 php-monolog trixie'
  'carbon-3 php-nesbot-carbon sid forky'
  'psr-cache-3 php-psr-cache trixie'
  'psr-clock-1 php-psr-clock trixie'
  'psr-simple-cache-3 php-psr-simple-cache trixie'
  'psr-log-3 php-psr-log trixie'
  'wordpress wordpress bookworm'
  'cache-tests php-cache-integration-tests bookworm'
  "${newest[@]}"
  "$@"
)

# Source packages that an index no longer has, or not yet: where they lie in the pool, and their hash.
declare -A before=(
  [symfony-6.4]='s/symfony/symfony_6.4.41+dfsg.orig.tar.xz cb5a93b47cbfea37894e6907bdcf2e75373ca10fc377c85a58c4aeaae11d6083'
  [laravel-11]='p/php-laravel-framework/php-laravel-framework_11.46.1+dfsg.orig.tar.xz ee54113a743f6cd2ee88410019393385779459241daefec857e055524250fffa'
)

# Whose tests run on what was fetched without its own.
declare -A tests_of=([symfony-7.4]=symfony-6.4 [symfony-8.1]=symfony-6.4 [laravel-13]=laravel-11)

ask() {
  "$@" -qq -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::SourceList="$apt/debian.list" -o Dir::State::Lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3
}

# Has apt know the source packages of all releases, or with `deb` also those built from them.
index() {
  local release type
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  for release in bookworm trixie forky sid experimental; do
    for type in "$@"; do
      printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' \
        "$type" "$release"
    done
  done >"$apt/debian.list"
  ask apt-get update
}

# Prints the version of a source package in a release; for symfony-7.4 only if it begins with 7.4.
version() {
  local wanted=${1##*-}
  if [[ $wanted == [0-9]* ]]; then wanted+=.; else wanted=''; fi
  ask apt-cache madison "$2" | awk -F ' *[|] *' -v wanted="$wanted" -v release=" $3/" \
    'index($2, wanted) == 1 && index($3, release) && /Sources$/ && !found++ { print $2 }'
}

# Fetches a source package.
fetch_source() {
  (cd "$apt/download" && ask apt-get source --tar-only --download-only "$2=$3") || return 1
  tar -xf "$apt"/download/*.orig.tar.* -C "$home/$1" --strip-components=1
}

# Fetches a source package by its place in the pool.
fetch_before() {
  local path hash
  read -r path hash <<<"${before[$1]:-}"
  [[ -n $path ]] || return 1
  echo "fetch: ${path##*/} for $1"
  /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file "http://deb.debian.org/debian/pool/main/$path" \
    "$apt/download/${path##*/}" "SHA256:$hash" || return 1
  tar -xf "$apt"/download/*.orig.tar.* -C "$home/$1" --strip-components=1
}

# Fetches what a release built from a source package, into apt/download/root.
fetch_packages() {
  local version names package
  version=$(version '' "$1" "$2")
  mapfile -t names < <(ask apt-cache showsrc "$1" | awk -v RS= -v version="$version" \
    'index($0 "\n", "\nVersion: " version "\n")' | sed -n '/^Binary:/,/^[^ B]/p' | grep -oE '\bphp-[a-z0-9-]+')
  rm -f "$apt"/download/*.deb
  (cd "$apt/download" && ask apt-get download "${names[@]/%/=$version}") || return 1
  for package in "$apt"/download/*.deb; do
    dpkg-deb --extract "$package" "$apt/download/root" || return 1
  done
}

# Fetches what was built from a source package, and the tests of another version where tests are asked for.
fetch_built() {
  local tests=${tests_of[$1]:-}
  [[ -z $tests || -f $home/$tests/.complete ]] || return 1
  echo "fetch: $2 of $3 without tests${tests:+, with those of $tests}"
  grep -q '^deb ' "$apt/debian.list" || index deb deb-src
  fetch_packages "$2" "$3" || return 1
  # Symfony's source package contains these.
  [[ $2 != symfony ]] || fetch_packages php-symfony-contracts sid || return 1
  mv "$apt/download/root/usr/share/php" "$home/$1/src" || return 1
  # Laravel looks for its defaults where its source package has them.
  [[ ! -d $home/$1/src/Illuminate/config ]] || mv "$home/$1/src/Illuminate/config" "$home/$1" || return 1
  [[ -n $tests ]] || return 0
  (cd "$home/$tests" && find . -name '[Tt]ests' -prune -exec cp -r --parents -t "$home/$1" {} +) &&
    echo "$tests" >"$home/$1/.tests-of"
}

# Fetches a package from the first place that has it.
fetch() {
  local folder=$1 source=$2 release version
  for release in "${@:3}"; do
    version=$(version "$folder" "$source" "$release")
    [[ -n $version ]] || continue
    echo "fetch: $source of $release"
    if fetch_source "$folder" "$source" "$version" || fetch_before "$folder" ||
      fetch_built "$folder" "$source" "$release"; then
      return
    fi
  done
  fetch_before "$folder"
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
mkdir -p "$apt"
index deb-src
for package in "${wanted[@]}"; do
  read -ra place <<<"$package"
  rm -rf "${home:?}/${place[0]}" "$apt/download" && mkdir -p "$home/${place[0]}" "$apt/download"
  fetch "${place[@]}" || { echo "fetch: no mirror has ${place[0]}" >&2; exit 1; }
  touch "$home/${place[0]}/.complete"
done
