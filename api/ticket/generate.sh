#!/bin/sh
# Generates the Go code of ticket.proto into DIR, with the plugin in .bin. Called by `make generate`:
#   api/ticket/generate.sh DIR
set -eu
cd "$(dirname "$0")/../.."
out=$1

PATH=$PWD/.bin:$PATH protoc -I api --go_out="$out" --go_opt=module=github.com/lattice-director/director/api/ticket/pb api/ticket/ticket.proto

# Removes protoc's version: distributions have different versions, which generate the same code.
sed '/^\/\/ \(- \)\{0,1\}[[:space:]]*protoc  *v/d' "$out/ticket.pb.go" >"$out/ticket.pb.go.new"
mv "$out/ticket.pb.go.new" "$out/ticket.pb.go"
