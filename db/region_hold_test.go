package db_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// fencedRegion is region eu between two cells: its writes are refused.
func fencedRegion(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	b.AddServer("a", 64)
	b.AddServer("us-1", 64, storetest.InRegion("us"))
	b.fence("eu")
	return b
}

// fence makes the database refuse writes of a region, which moves to another cell.
func (b *bundle) fence(region string) {
	b.t.Helper()
	for _, table := range []string{"instances", "instance_leases", "sessions", "seats"} {
		b.Exec("SELECT add_move_fence($1, $2)", table, region)
	}
	b.Exec(`INSERT INTO region_moves (id, region, direction, step, cell, address, actor, reason, fenced_at)
		VALUES (gen_random_uuid(), $1, 'leaves', 'fenced', 'america', 'https://us.example', 'test', 'test', clock_timestamp() + interval '1 hour')`, region)
}

// call makes a call in the background, and returns its error when it is answered.
func (b *bundle) call(ctx context.Context, do func(context.Context) error) <-chan error {
	answered := make(chan error, 1)
	go func() { answered <- do(ctx) }()
	return answered
}

func (b *bundle) ask(sub string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.Place(ctx, request(sub, 4))
		return err
	}
}

func (b *bundle) awaitHeld(calls int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.HeldCalls() == calls }, 10*time.Second, time.Millisecond)
}

// Pins a caller who is refused during the flip of a move, and waits a second for the other cell to answer.
func TestCallsAreHeldDuringTheFlip(t *testing.T) {
	t.Parallel()
	b := fencedRegion(t)
	calls := []<-chan error{
		b.call(t.Context(), b.ask("ann")),
		b.call(t.Context(), func(ctx context.Context) error {
			_, err := b.Heartbeat(ctx, ref("a"), nil)
			return err
		}),
		b.call(t.Context(), func(ctx context.Context) error {
			_, err := b.Register(ctx, db.Registration{InstanceID: "b", Endpoint: "b:7777", Region: "eu", Modes: []string{"duel"},
				Capacity: 64, BootID: "boot-1"})
			return err
		}),
	}
	b.awaitHeld(len(calls))
	_, err := b.Heartbeat(t.Context(), ref("us-1"), nil)
	require.NoError(t, err, "another region is served")
	b.Exec("SELECT give_region_away(id) FROM region_moves")
	for _, answered := range calls {
		err := <-answered
		requireKind(t, fault.Elsewhere, "region_elsewhere", err)
		require.Equal(t, "https://us.example", fault.CellOf(err).Addresses["api"])
	}
	requireKind(t, fault.Elsewhere, "region_elsewhere", b.ask("bob")(t.Context()))
	require.Zero(t, b.HeldCalls())
}

// Pins a call that is refused although the fence was lifted while it waited.
func TestHeldCallsGoOnWhenTheFenceIsLifted(t *testing.T) {
	t.Parallel()
	b := fencedRegion(t)
	ann := b.call(t.Context(), b.ask("ann"))
	b.awaitHeld(1)
	b.Exec("UPDATE region_moves SET step = 'copying', fenced_at = NULL")
	require.NoError(t, <-ann)
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM seats"))
}

// Pins a process that was frozen until the move had ended, and then decides calls that it held: no fence is left.
func TestHeldCallsKnowAMoveThatHasEnded(t *testing.T) {
	t.Parallel()
	b := fencedRegion(t)
	ann := b.call(t.Context(), b.ask("ann"))
	bob := b.call(t.Context(), func(ctx context.Context) error {
		_, err := b.Register(ctx, db.Registration{InstanceID: "b", Endpoint: "b:7777", Region: "eu", Modes: []string{"duel"},
			Capacity: 64, BootID: "boot-1"})
		return err
	})
	b.awaitHeld(2)
	b.Exec(`DO $$ BEGIN
		PERFORM give_region_away(id) FROM region_moves;
		PERFORM drop_move_fence(t, 'eu') FROM unnest('{instances,instance_leases,sessions,seats}'::text[]) t;
		UPDATE region_moves SET step = 'done', ended_at = clock_timestamp();
	END $$`)
	requireKind(t, fault.Elsewhere, "region_elsewhere", <-ann)
	requireKind(t, fault.Elsewhere, "region_elsewhere", <-bob)
	require.Zero(t, one[int](b, "SELECT count(*) FROM seats"))
}

// Pins calls that wait behind a fence which nobody lifts, or without a bound, and callers who left and are counted.
func TestCallsAreNotHeldForLong(t *testing.T) {
	t.Parallel()
	b := fencedRegion(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var held []<-chan error
	for i := range db.MaxHeldCalls {
		held = append(held, b.call(ctx, b.ask(fmt.Sprint("held-", i))))
	}
	b.awaitHeld(db.MaxHeldCalls)
	requireKind(t, fault.Unavailable, "unavailable", b.ask("ann")(t.Context()))
	leave()
	for _, answered := range held {
		requireKind(t, fault.Unavailable, "unavailable", <-answered)
	}
	b.awaitHeld(0)

	late := b.call(t.Context(), b.ask("late"))
	b.awaitHeld(1)
	b.Exec("UPDATE region_moves SET fenced_at = clock_timestamp() - interval '1 second'") // as if its command froze
	requireKind(t, fault.Unavailable, "unavailable", <-late)
	requireKind(t, fault.Unavailable, "unavailable", b.ask("later")(t.Context()))

	b.Exec("UPDATE region_moves SET direction = 'arrives', step = 'copying', fenced_at = NULL")
	requireKind(t, fault.Unavailable, "unavailable", b.ask("early")(t.Context()))
}
