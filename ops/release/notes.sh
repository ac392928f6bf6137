#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md, the notes of its release: ops/release/notes.sh VERSION
set -euo pipefail
cd "${RELEASE_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"
awk -v heading="## [$1]" 'index($0, "## [") == 1 { found = index($0, heading) == 1; next } /^\[[^]]+\]: / { found = 0 } found' CHANGELOG.md |
	sed -e '/./,$!d'
