#!/usr/bin/env bash
# Builds both images from the Dockerfile on a real engine and runs the director's as an orchestrator would: as an unprivileged user,
# with a read-only file system, against a real Postgres, until SIGTERM.
#   ops/docker-check.sh
# It needs an engine (DOCKER_HOST or the usual socket) and a Postgres on this machine. A base image that the engine neither has nor
# can pull is made from this machine: from its Go, its certificates and packages of Debian (mmdebstrap). Such a stand-in has the name
# of the base image, so run it on an engine of your own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. ops/stand-ins.sh

work=$(mktemp -d)
name=director-check-$$
cleanup() {
	docker rm --force "$name" "$name-db" >/dev/null 2>&1 || true
	[[ -z ${postgres:-} ]] || kill -QUIT "$postgres" 2>/dev/null || true
	[[ -z ${postgres:-} ]] || wait "$postgres" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

say() { printf '==> %s\n' "$*"; }
fail() { printf 'docker-check: %s\n' "$*" >&2; exit 1; }

docker info >/dev/null 2>&1 || fail 'no engine answers: start one, or set DOCKER_HOST'

sed -n 's/^FROM \([^ ]*\) AS.*/\1/p' Dockerfile | sort --unique | while read -r base; do
	need_image "$base" || fail "cannot make a stand-in for $base"
done

version=$(git describe --tags --always --dirty)
for target in director arena; do
	say "docker build --target $target"
	docker build --quiet --network host --build-arg VERSION="$version" --target "$target" --tag "lattice-$target:check" . >/dev/null
	docker image inspect --format '{{.Config.User}} {{.Size}}' "lattice-$target:check"
done

say 'the image runs without a shell, as user 65532'
[[ $(docker image inspect --format '{{.Config.User}}' lattice-director:check) =~ ^(65532|nonroot)(:|$) ]] || fail 'the image runs as root'
! docker run --rm --entrypoint /bin/sh lattice-director:check -c true 2>/dev/null || fail 'the image has a shell'
[[ $(docker run --rm lattice-director:check version) == *"$version"* ]] || fail "director version does not print $version"

say 'a Postgres for it'
bin=${DIRECTOR_PG_BINDIR:-$(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort | tail -1)}
as_postgres=()
[[ $(id -u) != 0 ]] || { as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups); chmod 711 "$work"; }
install --directory --mode 700 "$work/data"
[[ $(id -u) != 0 ]] || chown postgres "$work/data"
"${as_postgres[@]}" "$bin/initdb" --no-sync --auth trust --username director --pgdata "$work/data" >/dev/null
port=$((20000 + RANDOM % 10000))
"${as_postgres[@]}" "$bin/postgres" -D "$work/data" -p "$port" -k '' -h 127.0.0.1 >"$work/postgres.log" 2>&1 &
postgres=$!
for _ in $(seq 100); do "$bin/pg_isready" --quiet --host 127.0.0.1 --port "$port" && break; sleep 0.1; done

# The options are the restrictions of the Helm chart.
run=(docker run --network host --read-only --cap-drop ALL --security-opt no-new-privileges
	--env DIRECTOR_LOG_LEVEL=warn --env "DATABASE_URL=postgres://director@127.0.0.1:$port/postgres" --env DIRECTOR_ADDR=127.0.0.1:$((port + 1))
	--env DIRECTOR_KEY_ENCRYPTION_KEY="$(openssl rand -base64 32)" --env DIRECTOR_FLEET_TOKEN="$(openssl rand -hex 24)"
	--env 'DIRECTOR_AUTH_JWKS={"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"check","x":"n4RVW18EC8kHb91qHgTFp0MPFOHfo5mn6Qb8niWI5fw"}]}')
say 'director migrate up'
"${run[@]}" --rm lattice-director:check migrate up | tail -1
say 'director serve'
"${run[@]}" --detach --name "$name" --env DIRECTOR_WORK=true lattice-director:check >/dev/null
for _ in $(seq 100); do
	status=$(curl --silent --output /dev/null --write-out '%{http_code}' "http://127.0.0.1:$((port + 1))/readyz" || true)
	[[ $status != 200 ]] || break
	sleep 0.1
done
[[ $status == 200 ]] || { docker logs "$name" >&2; fail "/readyz answers $status"; }
say "/readyz answers $status"
[[ $(docker top "$name" -eo pid,uid | awk 'END { print $2 }') == 65532 ]] || fail 'the process does not run as 65532'

say 'SIGTERM'
started=$SECONDS
docker stop --time 30 "$name" >/dev/null
code=$(docker inspect --format '{{.State.ExitCode}}' "$name")
[[ $code == 0 ]] || { docker logs "$name" >&2; fail "exit code $code after SIGTERM"; }
say "ended with exit code 0 after $((SECONDS - started)) s"
