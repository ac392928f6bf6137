#!/usr/bin/env bash
# Prepares the commit of a release: ops/release/prepare.sh VERSION [DATE]
# It moves the entries of [Unreleased] in CHANGELOG.md below the version, sets the versions of the Helm chart, of the npm package, of the
# packages of engines
# and the last migration of the release in migrations/contract_test.go, and prints the notes of the release. It commits nothing.
set -euo pipefail
version=$1
date=${2:-$(date -u +%F)}
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export RELEASE_ROOT=${RELEASE_ROOT:-$scripts/../..} # the repository; tests have a copy
cd "$RELEASE_ROOT"

fail() {
	printf 'prepare.sh: %s\n' "$*" >&2
	exit 1
}

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$ ]] || fail "$version is no version: it must be such as 0.2.0 or 0.2.0-rc.1"
last=$(sed -n 's/^## \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
[[ $version != "$last" ]] || fail "CHANGELOG.md has $version already"
# sort puts 0.2.0~rc.1 before 0.2.0, as versions are ordered.
above=$(printf '%s\n%s\n' "${last/-/\~}" "${version/-/\~}" | sort --version-sort | tail -n 1)
[[ $above == "${version/-/\~}" ]] || fail "$version is not above $last"
notes=$("$scripts/notes.sh" Unreleased)
[[ -n ${notes//[[:space:]]/} ]] || fail 'CHANGELOG.md has nothing below [Unreleased]'

repository=https://github.com/lattice-director/director
sed -i -e "s|^## \[Unreleased\]\$|## [Unreleased]\\n\\n## [$version] - $date|" \
	-e "s|^\[Unreleased\]: .*|[Unreleased]: $repository/compare/v$version...main\\n[$version]: $repository/releases/tag/v$version|" CHANGELOG.md
sed -i -e "s/^version: [^ ]*/version: $version/" -e "s/^appVersion: .*/appVersion: $version/" ops/helm/lattice-director/Chart.yaml
# The version of the package itself, which is the first one of package.json and the first two of the lock file.
sed -i "0,/\"version\": /s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" sdk/ts/package.json
awk -v version="$version" '!/"version": / || seen++ > 1 { print; next } { sub(/"version": "[^"]*"/, "\"version\": \"" version "\""); print }' \
	sdk/ts/package-lock.json >sdk/ts/package-lock.json.new
mv sdk/ts/package-lock.json.new sdk/ts/package-lock.json
# The packages of engines.
sed -i "s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" sdk/csharp/package.json
sed -i "s|<Version>[^<]*<|<Version>$version<|" sdk/csharp/LatticeDirector.csproj
sed -i "s/version = \"[^\"]*\"/version = \"$version\"/" sdk/cpp/include/lattice/version.hpp
sed -i "s/^version = \"[^\"]*\"/version = \"$version\"/" sdk/rust/Cargo.toml sdk/rust/bevy/Cargo.toml
sed -i "s/^\(lattice-director = .* version = \)\"[^\"]*\"/\1\"$version\"/" sdk/rust/bevy/Cargo.toml
sed -i "s/VERSION = \"[^\"]*\"/VERSION = \"$version\"/" sdk/godot/addons/lattice_director/client.gd
newest=$(find migrations -name '[0-9]*_*.sql' -printf '%f\n' | sort | tail -n 1)
newest=$((10#${newest%%_*}))
sed -i -e "s|^// released is the last migration of the last release, .*\. The commit|// released is the last migration of the last release, $version. The commit|" \
	-e "s/^const released = .*/const released = $newest/" migrations/contract_test.go
printf '%s\n' "$notes"
