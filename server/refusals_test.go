package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/rest"
)

// refusals waits until a player has n rows of refusals, and returns them without their times.
func (b *bundle) refusals(player string, n int) map[string]opsview.Refusal {
	b.t.Helper()
	all := map[string]opsview.Refusal{}
	require.Eventually(b.t, func() bool {
		found := must.Get(opsview.Refusals.Read(b.t.Context(), b.store.Pool(), opsview.RefusalFilter{Player: player}, opsview.Page{}))(b.t)
		for _, r := range found {
			r.FirstAt, r.LastAt, r.Hour = time.Time{}, time.Time{}, time.Time{}
			all[r.Call+" "+r.Code] = r
		}
		return len(found) >= n
	}, time.Minute, 50*time.Millisecond)
	require.Len(b.t, all, n)
	return all
}

// Every answer that refuses a player is recorded with what it said, and nothing else is: no answer of success, and
// nothing of strangers, game servers and operators.
func TestRefusalsOfPlayersAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", func(f fields) { f["capacity"] = 1 })
	one := duel.with("max_players", 1)
	seated := b.matchmake("bob", one).ok(http.StatusOK)
	full := b.matchmake("ann", one).problem(http.StatusConflict, "no_capacity")
	b.matchmake("ann", duel.with("party", []string{"bob"})).problem(http.StatusBadRequest, "invalid_request")
	b.resolve("ann", seated["session_handle"]).problem(http.StatusForbidden, "no_seat")
	b.session("ann", "eu.nonsense").problem(http.StatusNotFound, "session_unknown")
	b.call(b.request(http.MethodPost, "/matchmake", one)).problem(http.StatusUnauthorized, "unauthorized")
	b.fleet("register", fields{"instance_id": ""}).problem(http.StatusBadRequest, "invalid_request")

	all := b.refusals("ann", 4)
	require.Equal(t, opsview.Refusal{
		Player: "ann", Call: "POST /matchmake", Code: "no_capacity", Detail: full["detail"].(string), Region: "eu", Mode: "duel", Times: 1, RequestID: full["request_id"].(string),
	}, all["POST /matchmake no_capacity"])
	require.Contains(t, all["POST /matchmake invalid_request"].Detail, "party must contain the caller")
	require.NotContains(t, all["POST /resolve no_seat"].Detail, seated["session_handle"].(string), "a handle is a secret")
	require.Contains(t, all, "GET /sessions/:id session_unknown")
	require.Equal(t, 4, b.store.Count("SELECT count(*) FROM ops.refusals"))
}

// A player who is refused again and again is one row, also by the rate limit, and a stopping replica still records it.
func TestAStoppingReplicaRecordsRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.CallerRate = rest.Rate{PerSecond: 1e-9, Burst: 3} })
	b.register("a", func(f fields) { f["capacity"] = 1 }) // for no party of eight
	for range 3 {
		b.matchmake("ann", duel).problem(http.StatusConflict, "no_capacity")
	}
	for range 4 {
		b.matchmake("ann", duel).problem(http.StatusTooManyRequests, "rate_limited")
	}
	b.stop()
	all := b.refusals("ann", 2)
	require.EqualValues(t, 3, all["POST /matchmake no_capacity"].Times)
	require.EqualValues(t, 4, all["POST /matchmake rate_limited"].Times)
}

// Pins requests that no operator sees, because only the metrics of one replica count them, and the last ones of a
// replica that stops.
func TestAStoppingReplicaRecordsItsRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	b.matchmake("ann", duel).ok(http.StatusOK)
	b.matchmake("ann", duel.with("mode", "")).problem(http.StatusBadRequest, "invalid_request")
	b.stop()
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM ops.request_minutes WHERE route = 'POST /matchmake' AND requests = 2 AND refused = 1 AND failed = 0"))
	require.Zero(t, b.store.Count("SELECT count(*) FROM ops.request_minutes WHERE route LIKE '%readyz'"))
}
