package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

// Pins a long value of an event's detail whose end an operator cannot read, and one that makes a page of any length.
func TestLongDetailsOpen(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10")
	shown := func(v any) string {
		raw, err := json.Marshal(map[string]any{"said": v, "n": 7})
		require.NoError(t, err)
		return string(detailHTML(opsview.Event{ID: id, Detail: raw}))
	}
	require.NotContains(t, shown(strings.Repeat("x", maxValue)), "<details")
	long := shown(strings.Repeat("x", maxValue) + hostile + "the end")
	require.Contains(t, long, `<details id="d-7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10">`)
	require.Contains(t, long, "the end")
	require.NotContains(t, long, "<script>")
	require.Contains(t, shown([]string{strings.Repeat("x", maxValue), "the end"}), "the end")
	require.Less(t, len(shown(strings.Repeat("é", maxWhole))), maxWhole+2*maxValue+500)
}
