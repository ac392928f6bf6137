#!/bin/sh
# Installs protoc, the compiler of .proto files, and its own .proto files if they are missing. Only `make generate` and
# `make generate-check` need it, because the generated code is checked in. Safe to run again. Uses sudo unless it runs as root.
set -eu

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

sudo=''
if [ "$(id -u)" -ne 0 ]; then
	sudo='sudo'
fi

echo "no protoc found; installing it to generate code" >&2
if [ "$(uname -s)" = Darwin ] && command -v brew >/dev/null 2>&1; then
	brew install protobuf
elif command -v apt-get >/dev/null 2>&1; then
	$sudo apt-get update -qq
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends protobuf-compiler libprotobuf-dev
elif command -v dnf >/dev/null 2>&1; then
	$sudo dnf install -y -q protobuf-compiler protobuf-devel
elif command -v apk >/dev/null 2>&1; then
	$sudo apk add --quiet protoc protobuf-dev
elif command -v pacman >/dev/null 2>&1; then
	$sudo pacman -Sy --noconfirm --needed --quiet protobuf
fi
works || {
	echo "install protoc, with the files of google/protobuf, by hand" >&2
	exit 1
}
