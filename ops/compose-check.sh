#!/usr/bin/env bash
# Starts compose.yaml on a real engine, as `docker compose up --build` does, and checks it from outside: replicas are ready, the
# migration ran once, Prometheus scrapes every process and evaluates every alert, dashboards have data, alerts fire.
#   ops/compose-check.sh
# It needs an engine with Compose, and the ports of compose.yaml. Images that cannot be pulled are made from packages of Debian
# (ops/stand-ins.sh). There is no package of Grafana: where its image cannot be pulled, the rest is started without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ops/stand-ins.sh

work=$(mktemp -d)
VERSION=$(git describe --tags --always --dirty)
export VERSION
compose=(docker compose --project-name director-check --file compose.yaml --file ops/compose/check.yaml)
cleanup() {
	"${compose[@]}" down --volumes --timeout 10 >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT

say() { printf '==> %s\n' "$*"; }
fail() {
	"${compose[@]}" logs --tail 20 >&2 || true
	printf 'compose-check: %s\n' "$*" >&2
	exit 1
}

# addresses prints the addresses of a service's containers.
addresses() {
	docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' $("${compose[@]}" ps --quiet "$1")
}

# sql runs a statement with the login of Grafana.
sql() {
	"${compose[@]}" exec -T --env PGPASSWORD=director_ops postgres psql --host postgres --username director_ops --dbname director \
		--no-align --tuples-only --set ON_ERROR_STOP=1 --command "$1"
}

docker compose version >/dev/null 2>&1 || fail 'the engine has no Compose'
without=()
for image in $("${compose[@]}" config --images postgres balancer prometheus grafana | sort --unique) $(sed -n 's/^FROM \([^ ]*\) AS.*/\1/p' Dockerfile | sort --unique); do
	case $image in
	lattice-*) ;;
	grafana/*) have_image "$image" || { say "no $image: starting without Grafana"; without=(--scale grafana=0); } ;;
	*) need_image "$image" || fail "cannot make a stand-in for $image" ;;
	esac
done
(cd ops/test && go build -o "$work/prometheus" ./compose/prometheus)
(cd bench && go build -o "$work/director-bench" ./cmd/director-bench)

say 'docker compose up --build'
"${compose[@]}" up --build --detach --pull never "${without[@]}" >"$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail 'docker compose up'; }
for _ in $(seq 120); do
	status=$(curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:8080/readyz || true)
	[[ $status != 200 ]] || break
	sleep 1
done
[[ $status == 200 ]] || fail "the balancer answers /readyz with $status"
[[ $(addresses director | wc -l) == 2 ]] || fail 'there are not two replicas'
for replica in $(addresses director); do
	[[ $(curl --silent --output /dev/null --write-out '%{http_code}' "http://$replica:8080/readyz") == 200 ]] || fail "$replica is not ready"
done
[[ $("${compose[@]}" ps --all --format '{{.State}} {{.ExitCode}}' migrate) == 'exited 0' ]] || fail 'the migration has not run once'
say 'two replicas are ready; the migration ran once'

say 'the login of Grafana reads the fleet'
for _ in $(seq 60); do
	servers=$(sql "SELECT count(*) FROM ops.fleet WHERE alive" 2>/dev/null || true)
	players=$(sql "SELECT coalesce(sum(players), 0) FROM ops.sessions" 2>/dev/null || true)
	[[ $servers != 3 || ${players:-0} == 0 ]] || break
	sleep 1
done
[[ $servers == 3 && $players -gt 0 ]] || fail "ops.fleet has ${servers:-no} live servers, not 3, with ${players:-no} players"
say "$servers game servers with $players players"

say 'Prometheus'
"$work/prometheus" targets 3 || fail 'targets'
urls=()
for replica in $(addresses director); do urls+=(--url "http://$replica:7350"); done
# A client that reads events, game servers that come and go, and one without a key: each counts something that the dashboard shows.
curl --silent --no-buffer --max-time 30 --header 'Authorization: Bearer check-admin-key-0123456789' "http://$replica:7350/v1/events" >/dev/null &
DIRECTOR_ORCHESTRATOR_AGENT_KEYS=check-agent-key-0123456789 DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=check-admin-key-0123456789 \
	"$work/director-bench" room-life "${urls[@]}" --agents 10 --callers 2 --duration 15s >"$work/load.log" 2>&1 ||
	{ cat "$work/load.log" >&2; fail 'the load of Rivalis'; }
curl --silent --max-time 2 --output /dev/null --header 'Connection: Upgrade' --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' \
	--header 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' "http://$replica:7350/fleet" || true
"$work/prometheus" panels ops/grafana/rivalis.json || fail 'a dashboard has no data'

say 'a worker that freezes'
"${compose[@]}" pause worker >/dev/null 2>&1
"$work/prometheus" alert DirectorNoWorker || fail 'no alert for the missing worker'
"$work/prometheus" alert DirectorDown firing || fail 'no alert for the frozen process'
say 'ok'
