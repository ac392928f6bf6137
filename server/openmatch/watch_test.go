package openmatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/must"
)

// watching is a running call of WatchAssignments.
type watching struct {
	t    *testing.T
	news chan string
	end  chan error
}

func (b *bundle) watch(id string) watching {
	stream := must.Get(b.WatchAssignments(b.t.Context(), &pb.WatchAssignmentsRequest{TicketId: id}))(b.t)
	w := watching{b.t, make(chan string, 100), make(chan error, 1)}
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				w.end <- err
				return
			}
			w.news <- m.GetAssignment().GetConnection()
		}
	}()
	return w
}

func (w watching) hears(connection string) {
	w.t.Helper()
	select {
	case got := <-w.news:
		require.Equal(w.t, connection, got)
	case err := <-w.end:
		require.NoError(w.t, err)
	case <-time.After(wait):
		require.Fail(w.t, "heard nothing of "+connection)
	}
}

func (w watching) ends(code codes.Code, text string) {
	w.t.Helper()
	refused(w.t, code, text, await.Value(w.t, w.end, "the end of the watch"))
	require.Empty(w.t, w.news)
}

// Pins a watcher that misses a second assignment, or that is ended after the first, on the assigning replica and on
// another.
func TestWatching(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := replica(t, b.store.URL)
	id := b.create(&pb.Ticket{}).GetId()
	watchers := []watching{b.watch(id), other.watch(id)}
	hear := func(connection string) {
		t.Helper()
		for _, w := range watchers {
			w.hears(connection)
		}
	}
	b.assign("host:1", id)
	hear("host:1")
	b.assign("host:1", id) // the same is not said again
	other.assign("host:2", id)
	hear("host:2")
	late := b.watch(id)
	late.hears("host:2")
	b.assign("", id)
	watchers = append(watchers, late)
	hear("")
	_, err := other.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: id})
	require.NoError(t, err)
	for _, w := range watchers {
		w.ends(codes.NotFound, "Ticket id: "+id+" not found")
	}
}

// Pins a watcher of an expired assigned ticket that waits for ever.
func TestWatchingEndsWithTheTicketsTime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.AssignedFor = 300 * time.Millisecond })
	id := b.create(&pb.Ticket{}).GetId()
	w := b.watch(id)
	b.assign("host:1", id)
	w.hears("host:1")
	w.ends(codes.NotFound, "Ticket id: "+id+" not found")
}

// Pins watchers that delay the stop of a replica, and ones that get NotFound from it.
func TestStopping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	var watchers []watching
	for range 50 {
		ids = append(ids, b.create(&pb.Ticket{}).GetId())
		watchers = append(watchers, b.watch(ids[len(ids)-1]))
	}
	b.assign("host:1", ids...)
	for _, w := range watchers {
		w.hears("host:1") // so that all of them are there
	}
	b.server.EndStreams()
	for _, w := range watchers {
		w.ends(codes.Unavailable, "this replica is stopping: retry, another one answers")
	}
	b.create(&pb.Ticket{}) // while it still can
	require.NoError(t, b.stop())
}
