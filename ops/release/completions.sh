#!/bin/sh
# Writes the completions of the command `director` for shells: ops/release/completions.sh DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1"
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go build -tags nomsgpack,grpcnotrace -o "$program" ./cmd/director
for shell in bash zsh fish; do
	"$program" completion "$shell" >"$1/director.$shell"
done
