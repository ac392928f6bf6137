package watch

import (
	"testing"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins a replica that crashes by a panic in a hub's goroutine. The hub reads again, so watchers only wait longer.
func TestAHubRetriesAfterAPanic(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"feed": "SettledSince", "watched tickets": "KeepAlive"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, dbtest.New(t))
			b.hub.pollEvery = 20 * time.Millisecond
			panicked := make(chan struct{})
			b.statements.connecting.Arm(method, func() { close(panicked); panic("in " + method) })
			background.Run(b.t, b.hub.Run)
			id := b.create(func(n *db.NewTicket) { n.TTL, n.KeepAlive = time.Hour, true })
			w := b.watch(id)
			await.Value(t, panicked, "a call of the hub")
			b.assign("a", id)
			w.gets("a")
		})
	}
}
