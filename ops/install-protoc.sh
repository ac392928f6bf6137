#!/bin/sh
# Installs protoc, the compiler of .proto files, and its own .proto files if they are missing. Only `make generate` and
# `make generate-check` need it, because the generated code is checked in. Safe to run again. Uses sudo or doas unless it
# runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

# works: can protoc compile a file that imports google/protobuf/*.proto?
works() {
	command -v protoc >/dev/null 2>&1 || return 1
	dir=$(mktemp -d)
	echo 'syntax = "proto3"; import public "google/protobuf/any.proto";' >"$dir/probe.proto"
	status=0
	protoc -I "$dir" --descriptor_set_out=/dev/null "$dir/probe.proto" 2>/dev/null || status=1
	rm -r "$dir"
	return $status
}

if works; then
	exit 0
fi

echo "no protoc found; installing it to generate code" >&2
install_packages 'protobuf-compiler libprotobuf-dev' 'protobuf-compiler protobuf-devel' 'protoc protobuf-dev' protobuf protobuf || :
works || {
	echo "install protoc, with the files of google/protobuf, by hand" >&2
	exit 1
}
