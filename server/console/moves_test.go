package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins an operator who does not see at the console that a region moves, how far it is, what stops it, and what would
// stop one that has not begun.
func TestMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(ivyToken)
	require.Contains(t, w.get("/moves").Body, "No region has moved")
	require.NotContains(t, w.get("/health").Body, "Regions that move")
	b.AddServer("eu-1", 8)
	b.AddServer("us-1", 8, storetest.InRegion("us"))
	b.Exec("SELECT ops.set_valve('launch', rate => 50, region => 'eu')")
	b.Exec("INSERT INTO projects (id, name, region) VALUES ('game', 'game', 'asia')")
	b.Exec(`INSERT INTO region_moves (id, region, direction, step, cell, address, actor, reason, tables, copied_tables, behind_bytes)
		VALUES (gen_random_uuid(), 'us', 'leaves', 'copying', 'america', 'https://us.example', 'console:ada', 'data leaves', 30, 12, 3 << 20)`)

	page := w.get("/moves").Body
	for _, text := range []string{"copying", "to america, https://us.example", "12 of 30 tables", "3.0 MiB", "possible", "ada: data leaves",
		"valve launch is of the region, and its line does not move: delete it", "projects of the realtime lobby are in the region"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, w.get("/health").Body, "12 of 30 tables copied")
	require.Contains(t, w.get("/fleet").Body, `href="/moves"`)

	b.Exec("UPDATE region_moves SET driven_at = now() - interval '1 hour'")
	require.Contains(t, w.get("/moves").Body, "no command works on it: start it again")
	b.Exec("UPDATE region_moves SET step = 'done', ended_at = now(), fenced_at = now() - interval '180 ms', flipped_at = now()")
	page = w.get("/moves").Body
	require.Contains(t, page, "180 ms")
	require.Contains(t, page, "not any more")
	require.NotContains(t, w.get("/health").Body, "Regions that move")
}
