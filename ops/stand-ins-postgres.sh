#!/bin/sh
# The entrypoint of the image that stands in for postgres: makes a cluster with the user, password and database of the environment
# unless there is one, and runs the command. The server that makes the database listens on its socket only.
set -eu
export PGDATA=/var/lib/postgresql/data

if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
	install --directory --owner postgres --mode 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
	echo "$POSTGRES_PASSWORD" >/tmp/password
	initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256 --encoding UTF8 >/dev/null
	rm /tmp/password
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	pg_ctl --wait start --options "-c listen_addresses=''" >/dev/null
	createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
	pg_ctl --wait stop >/dev/null
fi
exec "$@"
