package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestAssignmentsArePushed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.create(), b.create()
	w, second, elsewhere := b.watch(id), b.watch(id), b.watch(other)
	b.idle(3)
	b.assign("10.0.0.1:7777", id)
	w.gets("10.0.0.1:7777")
	second.gets("10.0.0.1:7777")
	b.watch(id).gets("10.0.0.1:7777") // a late watcher gets it at once
	b.assign("10.0.0.2:7777", other)
	elsewhere.gets("10.0.0.2:7777")
	require.Empty(t, w.sent)
}

// As in Open Match, the stream continues after the first assignment and sends each different one.
func TestReassignmentIsSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create()
	w := b.watch(id)
	for _, a := range []string{"a", "b", "a"} {
		b.assign(a, id)
		w.gets(a)
	}
	b.assign("a", id) // unchanged: not sent
	b.assign("", id)  // an empty assignment is an assignment
	w.gets("")
	b.assign("c", id)
	w.gets("c")
}

func TestTheEndOfATicketEndsTheWatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting, assigned := b.create(), b.create()
	one, two := b.watch(waiting), b.watch(assigned)
	b.assign("a", assigned)
	two.gets("a")
	b.delete(waiting)
	b.delete(assigned)
	one.endsWithout(waiting)
	two.endsWithout(assigned)
	b.watch(waiting).endsWithout(waiting)
	b.watch("cvcqsmbtf0q4g6s3tr4g").endsWithout("cvcqsmbtf0q4g6s3tr4g")
	b.watch("").endsWithout("")
	require.Zero(t, b.hub.Watching())
}

// An assigned ticket is deleted after AssignedFor, which restarts with each assignment, also with the same one.
func TestExpiryEndsTheWatch(t *testing.T) {
	t.Parallel()
	const assignedFor = 500 * time.Millisecond
	b := setup(t, func(c *db.Config) { c.Timing.AssignedFor = assignedFor })
	id := b.create()
	w := b.watch(id)
	b.assign("a", id)
	w.gets("a")
	last := time.Now()
	b.assign("a", id)
	w.endsWithout(id)
	require.GreaterOrEqual(t, time.Since(last), assignedFor)
}

// Postgres may terminate the LISTEN connection at any time: watchers must still get their assignments.
func TestAKilledListenerLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{b.create(), b.create()}
	one, two := b.watch(ids[0]), b.watch(ids[1])
	b.idle(2)
	for i := range 5 {
		b.there.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN director'")
		b.assign(fmt.Sprint("a", i), ids...)
		one.gets(fmt.Sprint("a", i))
		two.gets(fmt.Sprint("a", i))
	}
}

// Behind a pooler no notifications arrive: polling the feed has to find the change.
func TestWithoutNotificationsTheHubPolls(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t), func(c *db.Config) { c.Pooler = "pgbouncer" })
	b.hub.pollEvery = 20 * time.Millisecond
	background.Run(b.t, b.hub.Run)
	ids := []string{b.create(), b.create()}
	one, two := b.watch(ids[0]), b.watch(ids[1])
	b.assign("a", ids[0])
	one.gets("a")
	b.delete(ids[1])
	two.endsWithout(ids[1])
}

// Thousands of idle watchers must send no statements, or each slows down ticket creation; one reading serves all of
// them when their tickets are assigned.
func TestIdleWatchersSendNoStatements(t *testing.T) {
	t.Parallel()
	const n = 5000
	b := setup(t)
	ids, all := make([]string, n), make([]*watching, n)
	var creating sync.WaitGroup
	for i := range n {
		creating.Go(func() { ids[i] = b.create() })
	}
	creating.Wait()
	for i, id := range ids {
		all[i] = b.watch(id)
	}
	b.idle(n)

	before := b.statements.n.Load()
	b.assign("a", ids[0])
	all[0].gets("a")
	require.LessOrEqual(t, b.statements.n.Load()-before, int64(3), "statements when one ticket is assigned")
	before = b.statements.n.Load()
	b.assign("b", ids...)
	for _, w := range all {
		w.gets("b")
	}
	require.LessOrEqual(t, b.statements.n.Load()-before, int64(3), "statements when all tickets are assigned")
}

// A ticket may be assigned at any moment around the call of Watch, while other watchers join and leave: each watcher
// must get the last assignment.
func TestEachWatcherGetsTheLastAssignment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			id := b.create()
			var assigning sync.WaitGroup
			assigning.Go(func() { b.assign("first", id); b.assign("last", id) })
			for range i % 3 {
				b.watch(id).leave()
			}
			w := b.watch(id)
			defer w.leave()
			for got := ""; got != "last"; {
				select {
				case got = <-w.sent:
				case <-time.After(testTimeout):
					t.Error("still waiting after", got)
					return
				}
			}
			assigning.Wait()
			if i%2 == 0 {
				b.delete(id)
				w.endsWithout(id)
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return b.hub.Watching() == 0 }, testTimeout, time.Millisecond)
}

// Transactions commit in another order than they begin: a feed ordered by transaction id alone would skip one that
// began before a reading and committed after it.
func TestALateTransactionIsNotSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow, quick := b.create(), b.create()
	w, q := b.watch(slow), b.watch(quick)
	b.idle(2)
	tx, err := b.there.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	for _, sql := range []string{
		"INSERT INTO settled_tickets (region, id, body, assignment) SELECT region, id, body, 'late' FROM tickets WHERE id = $1",
		"DELETE FROM tickets WHERE id = $1",
	} {
		_, err = tx.Exec(t.Context(), sql, slow)
		require.NoError(t, err)
	}
	for i := range 3 {
		b.assign(fmt.Sprint("a", i), quick)
		q.gets(fmt.Sprint("a", i))
	}
	require.NoError(t, tx.Commit(t.Context()))
	b.there.Notify(db.TopicTickets, region)
	w.gets("late")
	require.Empty(t, q.sent, "repeated assignments are not sent")
}

// After a failover the database's clock may have gone back: a new assignment then has an earlier time.
func TestAnAssignmentOfAnEarlierTimeIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create()
	w := b.watch(id)
	b.assign("a", id)
	w.gets("a")
	b.there.Exec("UPDATE settled_tickets SET assignment = 'b', settled_at = settled_at - interval '1 minute', tx = pg_current_xact_id()")
	b.there.Notify(db.TopicTickets, region)
	w.gets("b")
}

// Watchers survive a database outage without a new call.
func TestWatchersOutlastTheDatabase(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewMigratedCluster(t, pglocal.Options{})
	b := setupOn(t, cluster.URL("postgres"))
	background.Run(b.t, b.hub.Run) // polls each two seconds: notifications and readings fail during the outage
	id, assigned := b.create(), b.create()
	b.assign("a", assigned)
	one, two := b.watch(id), b.watch(assigned)
	two.gets("a")
	b.idle(2)
	require.NoError(t, cluster.StopImmediate())
	require.True(t, fault.Is(b.hub.Watch(t.Context(), id, nil), fault.Unavailable), "a call during the outage fails")
	require.NoError(t, cluster.Start(t.Context()))
	b.there.Pool().Reset()
	b.assign("b", id)
	one.gets("b")
	b.delete(assigned)
	two.endsWithout(assigned)
}

// After a failover or a restore the server may assign lower transaction ids than the feed has reached: new changes
// would look as if they had been read.
func TestANewServerMakesAllWatchersReadTheirTickets(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewMigratedCluster(t, pglocal.Options{})
	b := setupOn(t, cluster.URL("postgres"))
	b.read()
	id := b.create()
	w := b.watch(id)
	b.idle(1)
	require.NoError(t, cluster.StopImmediate())
	require.NoError(t, cluster.Start(t.Context()))
	b.here.Pool().Reset()
	b.there.Pool().Reset()
	b.assign("a", id)
	b.there.Exec("UPDATE settled_tickets SET tx = '3'")
	b.read()
	w.gets("a")
	b.assign("b", id)
	b.read()
	w.gets("b")
}

func TestWhyAWatchEnds(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t))
	stop := background.Run(b.t, b.hub.Run)
	id := b.create()

	left := b.watch(id)
	left.leave()
	require.ErrorIs(t, left.ends(), context.Canceled)

	staying := b.watch(id)
	b.assign("a", id)
	staying.gets("a")
	require.Error(t, b.hub.Run(t.Context()), "two readers would deliver in no order")
	broken := errors.New("the stream is broken")
	require.Equal(t, broken, b.hub.Watch(t.Context(), id, func([]byte) error { return broken }))

	stop()
	require.True(t, fault.Is(staying.ends(), fault.Unavailable))
	require.True(t, fault.Is(b.hub.Watch(t.Context(), id, nil), fault.Unavailable))
	require.Zero(t, b.hub.Watching())
}

// Pins watchers that fill the memory of a replica, and a place that is not freed when its watcher leaves.
func TestWatchersAreBounded(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t))
	b.hub.maxWatchers = 1
	background.Run(b.t, b.hub.Run)
	id := b.create()
	b.assign("a", id)
	first := b.watch(id)
	first.gets("a")
	require.True(t, fault.Is(b.watch(id).ends(), fault.Unavailable))
	first.leave()
	require.ErrorIs(t, first.ends(), context.Canceled)
	b.watch(id).gets("a")
}

// A ticket with KeepAlive stays while somebody watches it, and expires after the last watcher has left.
func TestWatchingKeepsATicketAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ttl = time.Hour
	kept := b.create(func(n *db.NewTicket) { n.TTL, n.KeepAlive = ttl, true })
	fixed := b.create(func(n *db.NewTicket) { n.TTL = ttl })
	age := func() { b.there.Exec("UPDATE tickets SET expires_at = now() + interval '1 minute'") }
	alive := func() bool { return b.left(kept) > ttl-time.Minute }
	age()
	w, second, other := b.watch(kept), b.watch(kept), b.watch(fixed)
	require.Eventually(t, alive, testTimeout, time.Millisecond, "at once")
	b.idle(3)
	age()
	b.hub.lives.extendDue(t.Context(), time.Now().Add(ttl/4))
	require.False(t, alive(), "not due: most of its ttl is left")
	b.hub.lives.extendDue(t.Context(), time.Now().Add(ttl/2))
	require.True(t, alive())
	require.Less(t, b.left(fixed), 2*time.Minute, "created without KeepAlive")

	age()
	w.leave()
	_ = w.ends()
	b.hub.lives.extendDue(t.Context(), time.Now().Add(ttl))
	require.True(t, alive(), "one watcher is left")
	age()
	second.leave()
	_ = second.ends()
	b.hub.lives.extendDue(t.Context(), time.Now().Add(3*ttl))
	require.False(t, alive(), "no watcher is left")
	other.leave()
}

// left returns how long a ticket has to live.
func (b *bundle) left(id string) time.Duration {
	b.t.Helper()
	return storetest.One[time.Duration](b.there, "SELECT expires_at - now() FROM tickets WHERE id = $1", id)
}
