package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins an evacuation that is reported as one although players have no place or two, or have lost their order.
func TestEvacuationsOfWhichSomethingIsWrongHaveNoResult(t *testing.T) {
	t.Parallel()
	for _, e := range []evacuated{
		{PlacedPlayers: 39, Seconds: 1}, {PlacedPlayers: 40, Wrong: 1, Seconds: 1}, {PlacedPlayers: 40, Overtaken: 1, Seconds: 1},
	} {
		_, err := e.result(40)
		require.Error(t, err, "%+v", e)
	}
	right, err := evacuated{PlacedPlayers: 40, Seconds: 4.5}.result(40)
	require.NoError(t, err)
	require.InDelta(t, 4.5, right.Seconds, 1e-9)
}
