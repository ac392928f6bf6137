#!/bin/sh
# Writes the completions of the command `director` for shells: ops/release/completions.sh DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1"
program=$(mktemp)
trap 'rm -f "$program"' EXIT
# The flags of the release, so that its build finds this one in the cache.
CGO_ENABLED=0 go build -trimpath -tags nomsgpack,grpcnotrace -o "$program" ./cmd/director
for shell in bash zsh fish; do
	"$program" completion "$shell" >"$1/director.$shell"
done
