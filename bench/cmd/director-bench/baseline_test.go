package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins a no-op that costs less than the calls it stands for because it checks less or answers less, and a naive
// placement that does not work with a replica's clients.
func TestBenchBaseline(t *testing.T) {
	t.Parallel()
	l, i := outside(t)
	processes, err := l.Baselines(t.Context())
	require.NoError(t, err)
	api := processes[0].At(lab.Web)
	raw, _, err := i.Mint(devlogin.Claims{Subject: "anna"}, time.Minute)
	require.NoError(t, err)
	anna, fleet := "Authorization: Bearer "+raw, "X-Fleet-Token: "+l.FleetToken
	duel := object{"region": "eu", "mode": "duel"}

	status, body := clitest.Post(t, api+"/matchmake", anna, duel)
	require.Equal(t, http.StatusConflict, status, body)
	require.Equal(t, "no_capacity", clitest.Field(t, body, "code"))
	status, body = clitest.Post(t, api+"/fleet/register", fleet, object{
		"instance_id": "eu-1", "endpoint": "eu-1.example:7777", "region": "eu", "modes": []string{"duel"},
		"capacity": 64,
	})
	require.Equal(t, http.StatusOK, status, body)
	status, naive := clitest.Post(t, api+"/matchmake", anna, duel)
	require.Equal(t, http.StatusOK, status, naive)
	status, constant := clitest.Post(t, api+"/noop", anna, duel)
	require.Equal(t, http.StatusOK, status, constant)
	requireAlike(t, naive, constant)
	require.Equal(t, 1, count(t, l, "SELECT count(*) FROM seats"), "one by the naive placement, none by the no-op")

	beat := object{"instance_id": "eu-1", "load": 0.5}
	status, alive := clitest.Post(t, api+"/fleet/heartbeat", fleet, beat)
	require.Equal(t, http.StatusOK, status, alive)
	status, constant = clitest.Post(t, api+"/fleet/noop", fleet, beat)
	require.Equal(t, http.StatusOK, status, constant)
	requireAlike(t, alive, constant)

	for path, body := range map[string]object{"/noop": {"region": "EU", "mode": "duel"}, "/fleet/noop": {"load": 0.5}} {
		who := map[bool]string{true: fleet, false: anna}[strings.HasPrefix(path, "/fleet/")]
		status, _ = clitest.Post(t, api+path, who, body)
		require.Equal(t, http.StatusBadRequest, status, path)
		status, _ = clitest.Post(t, api+path, "", body)
		require.Equal(t, http.StatusUnauthorized, status, path)
	}
	require.Eventually(t, func() bool {
		status, body = clitest.Post(t, api+"/resolve", anna,
			object{"session_handle": clitest.Field(t, naive, "session_handle")})
		return status == http.StatusOK // 200 after the first key is made
	}, deadline, tick)
	before, err := l.Meter(processes...).Read(t.Context())
	require.NoError(t, err)
	require.Empty(t, before.Batches["placement"].Calls, "the naive placement groups nothing")
}

// requireAlike asserts that two answers have the same fields with values of the same length.
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

func count(t *testing.T, l *lab.Lab, sql string) (n int) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), l.URL()))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
