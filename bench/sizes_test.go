package bench

import (
	"encoding/json"
	"math"
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
	o := options(d, "matchmake")
	o.WarmUp, o.Duration, o.Capacity, o.Players, o.Turns = 0, time.Hour, 40, 5, 1234
	start := time.Now()
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.EqualValues(t, o.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, map[string]int{"capacity": 40, "players": 5}, sizes)
	require.Less(t, time.Since(start), time.Duration(o.Turns/o.Callers)*failurePause)
}

func TestImpossibleOptions(t *testing.T) {
	t.Parallel()
	good := Options{Scenario: Find(Scenarios, "matchmake"), URLs: []string{"http://127.0.0.1:1"},
		Load: Load{Callers: 1}, Duration: time.Second}
	for says, spoil := range map[string]func(*Options){
		"no scenario":     func(o *Options) { o.Scenario = Find(Scenarios, "dance") },
		"no URL":          func(o *Options) { o.URLs = nil },
		"0 callers":       func(o *Options) { o.Callers = 0 },
		"2049 callers":    func(o *Options) { o.Callers = MaxCallers + 1 },
		"-1 instances":    func(o *Options) { o.Instances = -1 },
		"-1 turns":        func(o *Options) { o.Turns = -1 },
		"must last":       func(o *Options) { o.Duration = 0 },
		"not be negative": func(o *Options) { o.WarmUp = -1 },
		"a rate of":       func(o *Options) { o.Rate = math.NaN() },
		"1001 regions":    func(o *Options) { o.Regions = 1001 },
		"33 modes":        func(o *Options) { o.Modes = 33 },
		"hot share of 2":  func(o *Options) { o.HotShare = 2 },
		"needs others":    func(o *Options) { o.HotShare = 0.5 },
		"-1 capacity":     func(o *Options) { o.Capacity = -1 },
		"1025 players":    func(o *Options) { o.Players = MaxPlayers + 1 },
		"1000001 tickets": func(o *Options) { o.Scenario, o.Tickets = Find(Scenarios, "match-idle"), MaxTickets+1 },
		"multiple of 100": func(o *Options) { o.Scenario, o.Tickets = Find(Scenarios, "match-queue"), 150 },
		"at a rate there": func(o *Options) { o.Turns, o.Rate = 1, 1 },
	} {
		o := good
		spoil(&o)
		_, err := Run(t.Context(), o)
		require.ErrorContains(t, err, says)
	}
}
