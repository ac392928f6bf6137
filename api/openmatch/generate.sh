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

# Removes protoc's version from the generated files: distributions have different versions, which generate the same code.
# Also removes the gateway's package comment, because doc.go has the package's.
for file in "$out"/*.go; do
	case $file in
	*.pb.gw.go) sed '/^\/\*$/,/^\*\/$/d' "$file" >"$file.new" ;;
	*.pb.go) sed '/^\/\/ \(- \)\{0,1\}[[:space:]]*protoc  *v/d' "$file" >"$file.new" ;;
	*) continue ;;
	esac
	mv "$file.new" "$file"
done
