package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// fakeMeter reads a director that was asked for so many no-ops.
type fakeMeter struct {
	d    *fakeDirector
	read func(noops int) (Reading, error)
}

func (m fakeMeter) Read(context.Context) (Reading, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return m.read(m.d.calls["/noop"])
}

// Pins costs that include what was used before the run, and units that are wrong by a factor of 1000.
func TestCosts(t *testing.T) {
	t.Parallel()
	before := Reading{
		ServerCPU: time.Second, PostgresCPU: time.Minute, GeneratorCPU: time.Hour, WALBytes: 1000, Transactions: 7,
		ServerRSS: 5,
		Batches:   map[string]Batches{"place": {Count: 1, Calls: 1}},
	}
	after := Reading{
		ServerCPU: 2 * time.Second, PostgresCPU: time.Minute + 500*time.Millisecond,
		GeneratorCPU: time.Hour + 100*time.Millisecond,
		WALBytes:     3000, Transactions: 17, ServerRSS: 6,
		Batches: map[string]Batches{
			"place":     {Count: 5, Calls: 13},
			"heartbeat": {},
		},
	}
	require.Equal(t, &Costs{
		ServerMicros: 1000, PostgresMicros: 500, GeneratorMicros: 100, WALBytes: 2, Transactions: 0.01, ServerRSS: 6,
		Groups: map[string]Group{"place": {Batches: 4, MeanCalls: 3}},
	}, after.Plus(before, -1).costs(1000))
}

// Pins a meter that is read during the warm-up or not at all, and a run that continues although its meter cannot be
// read.
func TestMeterIsReadAroundTheMeasurement(t *testing.T) {
	t.Parallel()
	for _, warmUp := range []time.Duration{0, 50 * time.Millisecond} {
		d, readings := startFakeDirector(t, nil), []int{} // no-ops before each
		var fails error
		o := options(d, Find(NoOps, "noop"))
		o.WarmUp, o.Meter = warmUp, fakeMeter{d, func(noops int) (Reading, error) {
			readings = append(readings, noops) // a second of CPU from one to the next
			return Reading{ServerCPU: time.Duration(len(readings)) * time.Second}, fails
		}}
		res := must.Get(Run(t.Context(), o))(t)
		require.Len(t, readings, 2)
		// calls in progress, and rounding
		require.InDelta(t, readings[1]-readings[0], 1e6/res.Costs.ServerMicros, float64(o.Load.Callers)+0.5)
		require.Equal(t, warmUp > 0, readings[0] > 0)

		fails, o.Duration = errors.New("no such process"), time.Hour
		_, err := Run(t.Context(), o)
		require.ErrorContains(t, err, "the meter of costs cannot be read: no such process")
	}
}

// Pins a call that seems dearer in a large fleet because the fleet's own heartbeats are counted as its cost.
func TestBackgroundIsNoCostOfCalls(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/noop": func(w http.ResponseWriter, r *http.Request) {
		_ = Pause(r.Context(), 20*time.Millisecond) // few calls, so that half of a CPU is 10 ms for each
		fmt.Fprint(w, `{}`)
	}})
	o, start := options(d, Find(NoOps, "noop")), time.Now()
	o.Load.Callers, o.Meter = 1, fakeMeter{d, func(noops int) (Reading, error) { // half of a CPU by itself, and 20 ms a call
		return Reading{ServerCPU: time.Since(start)/2 + time.Duration(noops)*20*time.Millisecond}, nil
	}}
	o.Background, o.Duration = 200*time.Millisecond, 400*time.Millisecond
	res := must.Get(Run(t.Context(), o))(t)
	require.InDelta(t, 0.5, res.Costs.Background.ServerCPUs, 0.1)
	require.InDelta(t, 20_000, res.Costs.ServerMicros, 4000, "not 30,000")
}
