package watch

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/must"
)

// queues creates a ticket of a player.
func (b *bundle) queues(sub string) string {
	b.t.Helper()
	a := must.Get(b.there.CreatePlayerTicket(b.t.Context(), region, db.PlayerTicketRequest{
		Caller: sub, Party: []string{sub}, TTL: time.Hour,
		EncodeBody: func(string, time.Time) []byte { return []byte{} }, RequestHash: []byte(sub),
	}))(b.t)
	return a.ID
}

func (b *bundle) follow(id string) *Follower {
	b.t.Helper()
	f := must.Get(b.hub.Follow(id))(b.t)
	b.t.Cleanup(f.Stop)
	return f
}

// settle waits until nothing is read any more, and takes the signals so far.
func (b *bundle) settle(followers ...*Follower) {
	b.t.Helper()
	b.idle(0)
	for _, f := range followers {
		select {
		case <-f.Changed():
		default:
		}
	}
}

// Pins a player who learns of a match only at the next poll: states, and the end of a ticket by whomever, are pushed.
func TestFollowersAreWoken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.queues("ada"), b.queues("bo")
	first, second, other := b.follow(one), b.follow(one), b.follow(two)
	b.settle(first, second, other)
	require.NoError(t, b.there.PauseTickets(t.Context(), region, []string{one}))
	await.Value(b.t, first.Changed(), "a change")
	await.Value(b.t, second.Changed(), "a change")
	b.settle(first, second)
	b.assign("a", one)
	await.Value(b.t, first.Changed(), "a change")
	second.Stop()
	b.delete(two)
	await.Value(b.t, other.Changed(), "a change")
	require.Equal(t, 2, b.hub.Following())
}

// A change between the beginning of following and the first reading of the feed is not lost.
func TestAChangeBeforeTheFirstReading(t *testing.T) {
	t.Parallel()
	b := stepwise(t)
	id := b.queues("ada")
	f := b.follow(id)
	require.NoError(t, b.there.PauseTickets(t.Context(), region, []string{id}))
	b.read()
	await.Value(b.t, f.Changed(), "a change")
	b.read()
	require.NoError(t, b.there.ResumeTickets(t.Context(), region, []string{id}))
	b.read()
	await.Value(b.t, f.Changed(), "a change")
}

// Thousands of idle followers must send no statements, whatever happens to other tickets costs one reading.
func TestIdleFollowersSendNoStatements(t *testing.T) {
	t.Parallel()
	const n = 2000
	b := setup(t)
	id := b.queues("ada")
	for range n {
		b.follow(id)
	}
	b.settle()
	before := b.statements.n.Load()
	b.idle(0)
	require.Equal(t, before, b.statements.n.Load())
	require.NoError(t, b.there.PauseTickets(t.Context(), region, []string{id}))
	f := b.follow(id)
	await.Value(b.t, f.Changed(), "a change")
	require.LessOrEqual(t, b.statements.n.Load()-before, int64(12), "two feeds, read after each of two notifications")
}

// A state that an older transaction commits after a younger one was read is not skipped.
func TestALateEventIsNotSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow, quick := b.queues("ada"), b.queues("bo")
	f, q := b.follow(slow), b.follow(quick)
	b.settle(f, q)
	tx, err := b.there.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "INSERT INTO ticket_events (region, ticket_id, n, state) VALUES ($1, $2, 2, 'paused')", region, slow)
	require.NoError(t, err)
	require.NoError(t, b.there.PauseTickets(t.Context(), region, []string{quick}))
	await.Value(b.t, q.Changed(), "a change")
	b.settle(f, q)
	require.NoError(t, tx.Commit(t.Context()))
	b.there.Notify(db.TopicTicketEvents, region)
	await.Value(b.t, f.Changed(), "a change")
	require.Empty(t, q.Changed())
}

func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hub.maxWatchers = 1
	f := b.follow("x")
	_, err := b.hub.Follow("x")
	require.True(t, fault.Is(err, fault.Unavailable))
	f.Stop()
	f.Stop()
	b.follow("x").Stop()
	require.Zero(t, b.hub.Following())
}
