package console

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins an operator who cannot evacuate a region at the console, or does not see who went where.
func TestEvacuate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.AddServer("us-1", 8, storetest.InRegion("us"))
	region := storetest.One[string](b.DB, "SELECT region FROM ops.fleet WHERE instance = 'eu-1'")
	mode := storetest.One[string](b.DB, "SELECT modes[1] FROM ops.fleet WHERE instance = 'eu-1'")
	_, err := b.Place(t.Context(), db.PlaceRequest{Caller: "ann", Region: region, Mode: mode, Party: []string{"ann"},
		MaxPlayers: 4})
	require.NoError(t, err)
	w := b.as(adaToken)
	require.Contains(t, w.get("/fleet?region="+region).Body, "/regions/"+region+"/evacuate")
	path := "/regions/" + region + "/evacuate"
	asked := w.get(path)
	require.Contains(t, asked.Body, "Evacuate the game servers of the region "+region+"?")
	require.Contains(t, asked.Body, "1 open session closes, and 1 player loses the seat.")
	require.Equal(t, http.StatusUnprocessableEntity, w.act(path, "requeue", "yes").Status, "without a reason")
	unclear := w.act(path, "requeue", "y", "reason", "power")
	require.Equal(t, http.StatusUnprocessableEntity, unclear.Status, "players who were to go on would lose their seats only")
	require.Contains(t, unclear.Body, "Let the players continue elsewhere: write yes, or leave it empty.")
	require.Equal(t, http.StatusUnprocessableEntity, w.act(path, "dead", "true", "reason", "power").Status)
	refused := w.act(path, "requeue", "yes", "seats_in", "nowhere", "reason", "power")
	require.Equal(t, http.StatusUnprocessableEntity, refused.Status)
	require.Contains(t, refused.Body, "there is no region")
	require.Contains(t, w.get("/evacuations").Body, "Nothing was evacuated")
	require.Equal(t, http.StatusNotFound, w.get("/regions/nowhere/evacuate").Status)

	done := w.act(path, "requeue", "yes", "seats_in", "us", "reason", "power")
	require.Equal(t, http.StatusSeeOther, done.Status, done.Body)
	require.Equal(t, "/evacuations", done.Header.Get("Location"))
	require.Contains(t, w.get("/evacuations").Body, "ada: power")
	again := w.act(path, "requeue", "yes", "reason", "power")
	require.Equal(t, http.StatusUnprocessableEntity, again.Status)
	require.Contains(t, again.Body, "is being evacuated")
	require.Equal(t, []string{"console:ada"}, b.actors("evacuation.begun"))

	id := storetest.One[uuid.UUID](b.DB, "SELECT evacuation FROM ops.evacuations")
	for {
		step, err := b.StepEvacuation(t.Context(), id, nil)
		require.NoError(t, err)
		if step.IsIdle() {
			break
		}
	}
	page := w.get("/evacuations/" + id.String()).Body
	require.Contains(t, page, "Who went where")
	require.Contains(t, page, `<span class="state good">seated</span>`)
	require.Contains(t, page, "/sessions/us.")
	require.Contains(t, w.get("/evacuations/"+id.String()+"?outcome=nothing").Body, "No player has this outcome.")
	require.Equal(t, http.StatusNotFound, w.get("/evacuations/"+uuid.NewString()).Status)
}
