package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins a worker without a replica that decides by its own clock, however wrong that is.
func TestAWorkerAloneReadsTheClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.options()
	o.Store, o.Reports = b.Replica(), true
	once(t, loopOf(t, o, "clock"))
	_, ok := o.Store.LatestClockReading()
	require.True(t, ok)

	o.Reports = false
	for _, l := range must.Get(New(o))(t).loops {
		require.NotEqual(t, "clock", l.name, "the replica of the process reads it")
	}
}
