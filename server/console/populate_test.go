package console

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// populate makes a fleet with sessions and players, hostile names among them, and returns the paths of all pages.
func (b *bundle) populate() []string {
	b.t.Helper()
	for i := range 4 {
		b.register(fmt.Sprintf("eu-frankfurt-%d", i), func(r *db.Registration) {
			r.Modes, r.Capacity, r.Labels, r.Version = []string{"duel", "free-for-all"}, 64, map[string]string{"rack": "r7", "build": "nightly-2026-11-24"}, "1.4.2"
		})
	}
	b.register("us-east-with-a-rather-long-name-of-a-game-server-0001", func(r *db.Registration) { r.Region, r.Modes = "us-east", []string{"arena"} })
	var last db.Placement
	for i := range 6 {
		last = b.place("duel", fmt.Sprintf("player-%d", i), fmt.Sprintf("<b>player</b>-%d", i))
	}
	_, err := b.As("console:ada").Drain(b.t.Context(), "eu-frankfurt-3")
	require.NoError(b.t, err)
	_, err = b.rotate(b.t.Context(), b.As("console:ada"))
	require.NoError(b.t, err)
	session := sessionPath(last.SessionID)
	return append(b.populateRest(last.SessionID), []string{"/health", "/instances/eu-frankfurt-0", session, session + "/close", "/players", "/players?q=player-3", "/players?q=nobody", "/capacity", "/capacity?party=65&seats=70",
		"/keys", "/keys/rotate", "/fleet", "/fleet?region=us-east", "/fleet?region=nowhere", "/instances/eu-frankfurt-0/drain"}...)
}
