package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// An operator limits, closes and opens a valve in the console; a viewer only sees it.
func TestValves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	require.Contains(t, w.get("/valves").Body, "Nothing limits who enters.")
	rate := 0.001
	_, err := b.As("x").SetValve(t.Context(), "launch", db.ValveSettings{Rate: &rate})
	require.NoError(t, err)
	_, err = b.EnterLoginQueue(t.Context(), db.LoginRequest{Player: "alice"})
	require.NoError(t, err)
	page := w.get("/valves").Body
	require.Contains(t, page, `data-label="Waiting" class="n">1<`)
	require.Contains(t, page, "everybody")

	require.Contains(t, w.get("/valves/launch/limit").Body, `value="0.001"`)
	require.Contains(t, w.act("/valves/launch/limit", "rate", "fast", "max_players", "0").Body, "must be a number")
	require.Contains(t, w.act("/valves/launch/limit", "rate", "1", "max_players", "many").Body,
		"must be a whole number that is not negative")
	require.Contains(t, w.act("/valves/launch/limit", "rate", "-1", "max_players", "0").Body,
		"the rate must be more than 0")
	require.Equal(t, http.StatusSeeOther, w.act("/valves/launch/limit", "rate", "0.5", "max_players", "20000").Status)
	require.Contains(t, w.get("/valves").Body, "20\u202f000")
	require.Contains(t, w.act("/valves/launch/close").Body, "Say why")
	require.Equal(t, http.StatusSeeOther, w.act("/valves/launch/close", "reason", "we look into the login").Status)
	require.Contains(t, w.get("/valves").Body, "we look into the login")
	require.Contains(t, w.get("/valves/launch/open").Body, "1 player who waits enters at once")
	require.Equal(t, http.StatusSeeOther, w.act("/valves/launch/open").Status)
	require.NotContains(t, w.get("/valves").Body, "/valves/launch/open")
	require.Equal(t, http.StatusNotFound, w.get("/valves/lunch/open").Status)
	require.Equal(t, []string{"console:ada"}, b.actors("valve.opened"))
	require.NotContains(t, b.as(ivyToken).get("/valves").Body, "/valves/launch/limit")
}

// Pins a form that brings back what another operator has changed since it was shown, and a valve that it makes again.
func TestAFormChangesWhatItsReaderChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w, other := b.as(adaToken), b.As("x")
	_, err := other.SetValve(t.Context(), "launch", db.ValveSettings{Rate: new(5.0)})
	require.NoError(t, err)
	page := w.get("/valves/launch/limit").Body
	require.Contains(t, page, `name="rate_seen" value="5"`)
	_, err = other.SetValve(t.Context(), "launch", db.ValveSettings{Rate: new(9.0)})
	require.NoError(t, err)
	require.Equal(t, http.StatusSeeOther, w.act("/valves/launch/limit", "rate", "5", "rate_seen", "5",
		"max_players", "20000", "max_players_seen", "0").Status)
	require.Equal(t, []string{"9 20000"}, storetest.Values[string](b.DB, "SELECT rate || ' ' || max_players FROM ops.valves"))

	_, err = other.DeleteValve(t.Context(), "launch")
	require.NoError(t, err)
	_, err = other.LimitValve(t.Context(), "launch", db.ValveSettings{Rate: new(5.0)})
	require.True(t, fault.Is(err, fault.NotFound), err)
	require.Zero(t, b.Count("SELECT count(*) FROM ops.valves"))
}
