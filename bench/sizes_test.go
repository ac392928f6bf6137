package bench

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins game servers and sessions of a wrong size, a wrong number of turns, and pauses after failed turns although the
// number of turns is given.
func TestSizes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sizes := map[string]int{}
	saw := func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Capacity   int `json:"capacity"`
			MaxPlayers int `json:"max_players"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		defer mu.Unlock()
		sizes["capacity"], sizes["players"] = max(sizes["capacity"], body.Capacity), max(sizes["players"],
			body.MaxPlayers)
		if r.URL.Path == "/matchmake" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		_, _ = w.Write([]byte(`{"incarnation":"one"}`))
	}
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/matchmake": saw, "/fleet/register": saw})
	o := options(d, Find(Scenarios, "matchmake"))
	o.WarmUp, o.Duration, o.Load.Capacity, o.Load.Players, o.Load.Turns = 0, time.Hour, 40, 5, 1234
	start := time.Now()
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.EqualValues(t, o.Load.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, map[string]int{"capacity": 40, "players": 5}, sizes)
	require.Less(t, time.Since(start), time.Duration(o.Load.Turns/o.Load.Callers)*failurePause)
}
