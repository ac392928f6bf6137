package loop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// undecided is a listener that decides nothing.
type undecided struct{}

func (undecided) moment() time.Time                 { return time.Unix(1, 0) }
func (undecided) before(context.Context, time.Time) {}
func (undecided) ticketFree(*entry)                 {}
func (undecided) ticketGone(string)                 {}

func TestTheQueueInMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const body = 1000
	q := newQueue(nil, "global", limit{tickets: 100, bytes: 10 * (entryBytes + body)}, undecided{})
	put := func(n, bytes int) {
		q.put(db.Candidate{ID: fmt.Sprint(n), Tx: uint64(bytes), Body: make([]byte, bytes)}, time.Unix(1, 0))
	}
	for n := range 1000 {
		put(n, body)
	}
	require.Equal(t, 10, q.len(), "the bytes are bounded")
	for n := range 10 {
		put(n, 1) // the same ticket with another body
	}
	for n := range 1000 {
		put(n, 1)
	}
	require.Equal(t, 10*(entryBytes+body)/(entryBytes+1)+1, q.len())
	for n := range 1000 {
		q.remove(fmt.Sprint(n))
	}
	require.Zero(t, q.bytes)
	for n := range 1000 {
		put(n, 0)
		q.forgetBody(q.entries["0"])
	}
	require.Equal(t, 35, q.len())
	q.limit.bytes = 1 << 20
	for n := range 1000 {
		put(n, 0)
	}
	require.Equal(t, 100, q.len(), "the number of tickets is bounded")
}
