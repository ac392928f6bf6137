package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// These tests run the steps of a hub and of a watcher, which are concurrent otherwise, in orders that are rare by
// chance.

// stepwise makes a hub that reads the feed only in calls of read.
func stepwise(t *testing.T) *bundle {
	t.Helper()
	b := setupOn(t, dbtest.New(t))
	b.read()
	return b
}

func (b *bundle) read() {
	b.t.Helper()
	require.NoError(b.t, b.hub.readFeeds(b.t.Context()))
}

// The only change may come between the look at the ticket and the wait for changes.
func TestAChangeRightAfterTheLook(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id := b.create()
	b.statements.after.Arm("GetTickets", func() {
		b.assign("a", id)
		b.read()
	})
	b.watch(id).gets("a")
}

// The only change may come while the hub moves to the end of the feed because nobody watched before.
func TestAChangeWhileTheHubSkips(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id, looked := b.create(), make(chan struct{})
	var w *watching
	b.statements.before.Arm("CurrentSnapshot", func() {
		b.statements.after.Arm("GetTickets", func() { close(looked) })
		w = b.watch(id)
		<-looked
		b.assign("a", id)
	})
	b.read()
	b.read()
	w.gets("a")
}

// A change older than the look must not be sent after it: the player would connect to an outdated game server.
func TestAChangeOlderThanTheLook(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id := b.create()
	b.statements.before.Arm("GetTickets", func() {
		b.assign("old", id)
		b.read()
		b.assign("new", id)
	})
	w := b.watch(id)
	w.gets("new")
	b.read()
	b.delete(id)
	b.read()
	w.endsWithout(id)
}
