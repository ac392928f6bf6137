package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
)

// Pins a no-op that costs less than the calls it stands for because it checks or says less, and a naive placement that
// game servers and players cannot talk to as they do to a replica.
func TestBenchBaseline(t *testing.T) {
	t.Parallel()
	url, i := dbtest.New(t), login(t)
	r := start(t, serving(url, i.JWKS(), "DIRECTOR_MODE_DUEL=2", "DIRECTOR_METRICS_ADDR=127.0.0.1:0"), "bench-baseline", "--work")
	api, metrics := r.api(), "http://"+r.logged("listening", "metrics_addr")
	anna := bearer(t, i, "anna")
	duel := object{"region": "eu", "mode": "duel"}

	status, body := post(t, api+"/matchmake", anna, duel)
	require.Equal(t, http.StatusConflict, status, body)
	require.Equal(t, "no_capacity", field(t, body, "code"))
	status, body = post(t, api+"/fleet/register", fleetHeader, myServer)
	require.Equal(t, http.StatusOK, status, body)
	status, naive := post(t, api+"/matchmake", anna, duel)
	require.Equal(t, http.StatusOK, status, naive)
	status, still := post(t, api+"/noop", anna, duel)
	require.Equal(t, http.StatusOK, status, still)
	requireAlike(t, naive, still)
	require.Equal(t, 1, storeCount(t, url, "SELECT count(*) FROM seats"), "one by the naive placement, none by the no-op")

	beat := object{"instance_id": "eu-1", "load": 0.5}
	status, alive := post(t, api+"/fleet/heartbeat", fleetHeader, beat)
	require.Equal(t, http.StatusOK, status, alive)
	status, still = post(t, api+"/fleet/noop", fleetHeader, beat)
	require.Equal(t, http.StatusOK, status, still)
	requireAlike(t, alive, still)

	for path, body := range map[string]object{"/noop": {"region": "EU", "mode": "duel"}, "/fleet/noop": {"load": 0.5}} {
		who := map[bool]string{true: fleetHeader, false: anna}[strings.HasPrefix(path, "/fleet/")]
		status, _ = post(t, api+path, who, body)
		require.Equal(t, http.StatusBadRequest, status, path)
		status, _ = post(t, api+path, "", body)
		require.Equal(t, http.StatusUnauthorized, status, path)
	}
	require.Eventually(t, func() bool {
		status, body = post(t, api+"/resolve", anna, object{"session_handle": field(t, naive, "session_handle")})
		return status == http.StatusOK // once the first key is made
	}, deadline, tick)
	require.Eventually(t, func() bool { status, _ := get(t, api+"/readyz"); return status == http.StatusOK }, deadline, tick)
	_, page := get(t, metrics+"/metrics")
	require.Contains(t, page, `director_http_requests_total{method="POST",route="/matchmake",status="200"} 2`)
	require.NoError(t, r.stop())
}

// requireAlike wants two answers to have the same fields, as long as each other.
func requireAlike(t *testing.T, one, other string) {
	t.Helper()
	var a, b object
	require.NoError(t, json.Unmarshal([]byte(one), &a))
	require.NoError(t, json.Unmarshal([]byte(other), &b))
	for name := range a {
		require.Contains(t, b, name)
	}
	require.Len(t, b, len(a))
	require.InDelta(t, len(one), len(other), 20)
}

func storeCount(t *testing.T, url, sql string) (n int) {
	t.Helper()
	require.NoError(t, storeOn(t, url).Pool().QueryRow(t.Context(), sql).Scan(&n))
	return n
}
