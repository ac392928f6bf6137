package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
)

// These have the steps of a hub and of a watcher, which otherwise run side by side, one after the other in the orders that
// are hard to meet by chance.

// stepwise is a hub that reads when it is told to.
func stepwise(t *testing.T) *bundle {
	t.Helper()
	b := setupOn(t, dbtest.New(t))
	b.read()
	return b
}

func (b *bundle) read() {
	b.t.Helper()
	require.NoError(b.t, b.hub.read(b.t.Context()))
}

// Between a look at a ticket and the wait for news of it, its only news must not pass by.
func TestNewsRightAfterTheLook(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id := b.create()
	b.asked.after.set("GetTickets", func() {
		b.assign("a", id)
		b.read()
	})
	b.watch(id).gets("a")
}

// Nor must it while the hub only moves on, because nobody watched when it began to.
func TestNewsWhileTheHubMovesOn(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id, looked := b.create(), make(chan struct{})
	var w *watching
	b.asked.before.set("SettledNow", func() {
		b.asked.after.set("GetTickets", func() { close(looked) })
		w = b.watch(id)
		<-looked
		b.assign("a", id)
	})
	b.read()
	b.read()
	w.gets("a")
}

// News that are older than the look must not be sent after it: a player would go to where nobody waits any more.
func TestNewsOlderThanTheLook(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id := b.create()
	b.asked.before.set("GetTickets", func() {
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
