package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lattice-director/director/db"
)

// undecided is a listener that decides nothing.
type undecided struct{}

func (undecided) currentMoment() time.Time { return time.Unix(1, 0) }
func (undecided) ticketFree(*entry)        {}
func (undecided) ticketGone(*entry)        {}
func (undecided) ticketLeft(*entry)        {}

// playable is a body with a player, of about so many bytes, and exactly so many for any two calls with the same.
func playable(padding int) []byte {
	arg := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "player")
	search := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), arg)
	body := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), search)
	return protowire.AppendString(protowire.AppendTag(body, 1, protowire.BytesType), strings.Repeat("x", padding))
}

func TestTheQueueInMemoryIsBounded(t *testing.T) {
	t.Parallel()
	large, small := playable(1000), playable(1)
	q := newQueue(Options{PlayerArg: "player", MaxCandidates: 100, Memory: 10 * (entryBytes + len(large))}, undecided{})
	put := func(n int, body []byte) {
		q.putTicket(db.Candidate{TicketID: fmt.Sprint(n), ChangedTx: uint64(len(body)), Body: body}, time.Unix(1, 0))
	}
	for n := range 1000 {
		put(n, large)
	}
	require.Equal(t, 10, q.len(), "the bytes are bounded")
	for n := range 10 {
		put(n, small) // the same ticket with another body
	}
	for n := range 1000 {
		put(n, small)
	}
	require.Equal(t, 10*(entryBytes+len(large))/(entryBytes+len(small))+1, q.len())
	for n := range 1000 {
		q.removeTicket(fmt.Sprint(n))
	}
	require.Zero(t, q.heldBytes)
	require.Equal(t, newIndex(), q.byProfile)
	for n := range 1000 {
		put(n, make([]byte, 1000)) // without players
	}
	require.Equal(t, 36, q.len(), "bodies that no profile takes are not kept")
	q.memoryLimit.maxBytes = 1 << 20
	for n := range 1000 {
		put(n, nil)
	}
	require.Equal(t, 100, q.len(), "the number of tickets is bounded")
}
