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
	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/migrations"
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
	b.watch(id).gets("10.0.0.1:7777") // who comes late is told at once
	b.assign("10.0.0.2:7777", other)
	elsewhere.gets("10.0.0.2:7777")
	require.Empty(t, w.sent)
}

// Open Match goes on after the first assignment, and sends what differs from the last.
func TestReassignmentIsSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create()
	w := b.watch(id)
	for _, a := range []string{"a", "b", "a"} {
		b.assign(a, id)
		w.gets(a)
	}
	b.assign("a", id) // nothing new
	b.assign("", id)  // an assignment that says nothing is one
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

// An assigned ticket is forgotten after its time, which begins anew with each assignment, also with the same.
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

// What a game server's players wait for must not hang on one connection that Postgres may end at any time.
func TestAKilledListenerLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{b.create(), b.create()}
	one, two := b.watch(ids[0]), b.watch(ids[1])
	b.idle(2)
	for i := range 5 {
		b.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN director'")
		b.assign(fmt.Sprint("a", i), ids...)
		one.gets(fmt.Sprint("a", i))
		two.gets(fmt.Sprint("a", i))
	}
}

// Behind a pooler there are no notices from other replicas. Then the net catches it.
func TestWithoutNoticesTheHubLooks(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t), func(c *db.Config) { c.Pooler = "pgbouncer" })
	b.hub.poll = 20 * time.Millisecond
	b.run()
	ids := []string{b.create(), b.create()}
	one, two := b.watch(ids[0]), b.watch(ids[1])
	b.assign("a", ids[0])
	one.gets("a")
	b.delete(ids[1])
	two.endsWithout(ids[1])
}

// Thousands who wait must cost nothing, or creating tickets gets slower with each of them; and when their match is made,
// one reading serves them all.
func TestIdleWatchersAskNothing(t *testing.T) {
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

	before := b.asked.n.Load()
	b.assign("a", ids[0])
	all[0].gets("a")
	require.LessOrEqual(t, b.asked.n.Load()-before, int64(3), "what is asked when one of them is assigned")
	before = b.asked.n.Load()
	b.assign("b", ids...)
	for _, w := range all {
		w.gets("b")
	}
	require.LessOrEqual(t, b.asked.n.Load()-before, int64(3), "what is asked when all of them are assigned")
}

// A ticket may be assigned at any moment around the call, while others come and go: nobody may be left waiting, and the
// last that is sent is the last there is.
func TestNobodyIsLeftOut(t *testing.T) {
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
			for heard := ""; heard != "last"; {
				select {
				case heard = <-w.sent:
				case <-time.After(patient):
					t.Error("left waiting after", heard)
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
	require.Eventually(t, func() bool { return b.hub.Watching() == 0 }, patient, time.Millisecond)
}

// Transactions do not end in the order in which they began: a reading that went by numbers alone would pass by one that
// began before it and ended after it.
func TestALateTransactionIsNotPassedBy(t *testing.T) {
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
	require.Empty(t, q.sent, "what comes again with it is known")
}

// After a failover the database's clock may be behind where it was: what is new then looks old.
func TestAnAssignmentOfAnEarlierTimeIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create()
	w := b.watch(id)
	b.assign("a", id)
	w.gets("a")
	b.exec("UPDATE settled_tickets SET assignment = 'b', settled_at = settled_at - interval '1 minute', tx = pg_current_xact_id()")
	b.there.Notify(db.TopicTickets, region)
	w.gets("b")
}

// Players who wait longer than an outage need not ask again.
func TestWatchersOutlastTheDatabase(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t, pglocal.Options{})
	url := cluster.URL("postgres")
	_, err := migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	b := setupOn(t, url)
	b.run() // which looks each two seconds: both notices and readings fail meanwhile
	id, assigned := b.create(), b.create()
	b.assign("a", assigned)
	one, two := b.watch(id), b.watch(assigned)
	two.gets("a")
	b.idle(2)
	require.NoError(t, cluster.StopImmediate())
	require.True(t, db.IsKind(b.hub.Watch(t.Context(), id, nil), db.Unavailable), "who comes now is told")
	require.NoError(t, cluster.Start(t.Context()))
	b.there.Pool().Reset()
	b.assign("b", id)
	one.gets("b")
	b.delete(assigned)
	two.endsWithout(assigned)
}

// After a failover or a restore the server may count transactions from a lower number than the feed was read up to: what
// it settles looks as if it was read long ago.
func TestANewServerHasAllLookAgain(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t, pglocal.Options{})
	url := cluster.URL("postgres")
	_, err := migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	b := setupOn(t, url)
	b.read()
	id := b.create()
	w := b.watch(id)
	b.idle(1)
	require.NoError(t, cluster.StopImmediate())
	require.NoError(t, cluster.Start(t.Context()))
	b.here.Pool().Reset()
	b.there.Pool().Reset()
	b.assign("a", id)
	b.exec("UPDATE settled_tickets SET tx = '3'")
	b.read()
	w.gets("a")
	b.assign("b", id)
	b.read()
	w.gets("b")
}

func TestWhyAWatchEnds(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t))
	stop := b.run()
	id := b.create()

	left := b.watch(id)
	left.leave()
	require.ErrorIs(t, left.ends(), context.Canceled)

	staying := b.watch(id)
	b.assign("a", id)
	staying.gets("a")
	require.Error(t, b.hub.Run(t.Context()), "two readers would hand out in no order")
	broken := errors.New("the stream is broken")
	require.Equal(t, broken, b.hub.Watch(t.Context(), id, func([]byte) error { return broken }))

	stop()
	require.True(t, db.IsKind(staying.ends(), db.Unavailable))
	require.True(t, db.IsKind(b.hub.Watch(t.Context(), id, nil), db.Unavailable))
	require.Zero(t, b.hub.Watching())
}

// Pins watchers who fill the memory of a replica, and a place that is not free again.
func TestWatchersAreBounded(t *testing.T) {
	t.Parallel()
	b := setupOn(t, dbtest.New(t))
	b.hub.most = 1
	b.run()
	id := b.create()
	b.assign("a", id)
	first := b.watch(id)
	first.gets("a")
	require.True(t, db.IsKind(b.watch(id).ends(), db.Unavailable))
	first.leave()
	require.ErrorIs(t, first.ends(), context.Canceled)
	b.watch(id).gets("a")
}

// A player who watches has not gone away, so the ticket does not either; when the player has, it does.
func TestWatchingKeepsATicketAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ttl = time.Hour
	kept := b.create(func(n *db.NewTicket) { n.TTL, n.KeepAlive = ttl, true })
	fixed := b.create(func(n *db.NewTicket) { n.TTL = ttl })
	age := func() { b.exec("UPDATE tickets SET expires_at = now() + interval '1 minute'") }
	alive := func() bool { return b.left(kept) > ttl-time.Minute }
	age()
	w, second, other := b.watch(kept), b.watch(kept), b.watch(fixed)
	require.Eventually(t, alive, patient, time.Millisecond, "at once")
	b.idle(3)
	age()
	b.hub.keepDue(t.Context(), time.Now().Add(ttl/4))
	require.False(t, alive(), "it has most of its time left")
	b.hub.keepDue(t.Context(), time.Now().Add(ttl/2))
	require.True(t, alive())
	require.Less(t, b.left(fixed), 2*time.Minute, "that one did not ask for it")

	age()
	w.leave()
	_ = w.ends()
	b.hub.keepDue(t.Context(), time.Now().Add(ttl))
	require.True(t, alive(), "somebody watches")
	age()
	second.leave()
	_ = second.ends()
	b.hub.keepDue(t.Context(), time.Now().Add(3*ttl))
	require.False(t, alive(), "nobody does")
	other.leave()
}

// left is how long a ticket has to live.
func (b *bundle) left(id string) (d time.Duration) {
	b.t.Helper()
	row := b.there.Pool().QueryRow(b.t.Context(), "SELECT expires_at - now() FROM tickets WHERE id = $1", id)
	require.NoError(b.t, row.Scan(&d))
	return d
}
