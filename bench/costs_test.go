package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a meter of a director that uses a second of CPU from one reading to the next.
type clock struct {
	d     *fakeDirector
	calls []int // of no-op, at each reading
	err   error
}

func (m *clock) Read(context.Context) (Reading, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.calls = append(m.calls, m.d.calls["/noop"])
	return Reading{ServerCPU: time.Duration(len(m.calls)) * time.Second}, m.err
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
		m := &clock{d: startFakeDirector(t, nil)}
		o := options(m.d, Find(NoOps, "noop"))
		o.WarmUp, o.Meter = warmUp, m
		res, err := Run(t.Context(), o)
		require.NoError(t, err)
		require.Len(t, m.calls, 2)
		// calls in progress, and rounding
		require.InDelta(t, m.calls[1]-m.calls[0], 1e6/res.Costs.ServerMicros, float64(o.Load.Callers)+0.5)
		require.Equal(t, warmUp > 0, m.calls[0] > 0)

		m.err, o.Duration = errors.New("no such process"), time.Hour
		_, err = Run(t.Context(), o)
		require.ErrorContains(t, err, "the meter of costs cannot be read: no such process")
	}
}

// idler is a meter of a director that uses half of a CPU by itself, and 20 ms a call.
type idler struct {
	d     *fakeDirector
	start time.Time
}

func (m *idler) Read(context.Context) (Reading, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return Reading{ServerCPU: time.Since(m.start)/2 + time.Duration(m.d.calls["/noop"])*20*time.Millisecond}, nil
}

// Pins a call that seems dearer in a large fleet because the fleet's own heartbeats are counted as its cost.
func TestBackgroundIsNoCostOfCalls(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/noop": func(w http.ResponseWriter, r *http.Request) {
		_ = Pause(r.Context(), 20*time.Millisecond) // few calls, so that half of a CPU is 10 ms for each
		fmt.Fprint(w, `{}`)
	}})
	o := options(d, Find(NoOps, "noop"))
	o.Load.Callers, o.Meter = 1, &idler{d, time.Now()}
	o.Background, o.Duration = 200*time.Millisecond, 400*time.Millisecond
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.InDelta(t, 0.5, res.Costs.Background.ServerCPUs, 0.1)
	require.InDelta(t, 20_000, res.Costs.ServerMicros, 4000, "not 30,000")
}
