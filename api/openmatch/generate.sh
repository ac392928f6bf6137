#!/bin/sh
# Generates the Go code of the protocol in this directory into DIR, with the plugins in .bin. Called by `make generate`:
#   api/openmatch/generate.sh DIR
set -eu
cd "$(dirname "$0")/../.."
out=$1
module=github.com/lattice-director/director/api/openmatch/pb

rm -f "$out"/*.pb.go "$out"/*.pb.gw.go
PATH=$PWD/.bin:$PATH protoc -I api \
	--go_out="$out" --go_opt="module=$module" \
	--go-grpc_out="$out" --go-grpc_opt="module=$module" \
	--grpc-gateway_out="$out" --grpc-gateway_opt="module=$module,grpc_api_configuration=api/openmatch/http.yaml" \
	api/openmatch/*.proto

# protoc only reads the files, and distributions have different ones. Without its version, all give the same code. And the
# package has a comment of its own, in doc.go, instead of one of the gateway's.
for file in "$out"/*.go; do
	case $file in
	*.pb.gw.go) sed '/^\/\*$/,/^\*\/$/d' "$file" >"$file.new" ;;
	*.pb.go) sed '/^\/\/ \(- \)\{0,1\}[[:space:]]*protoc  *v/d' "$file" >"$file.new" ;;
	*) continue ;;
	esac
	mv "$file.new" "$file"
done
