package db

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/notify/notifytest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// listener is a store that listens for notifications, and its log.
type listener struct {
	*Store
	logged *logtest.Buffer
}

func newListener(t *testing.T, url string, change ...func(*Config)) listener {
	t.Helper()
	l := listener{logged: &logtest.Buffer{}}
	cfg := variant.Apply(Config{URL: url, MaxConns: 4, Log: slog.New(slog.NewTextHandler(l.logged, nil))}, change...)
	l.Store = must.Get(Open(t.Context(), cfg))(t)
	t.Cleanup(l.Close)
	return l
}

// awaitConnection waits until notifications of other replicas arrive, and takes the signal that a new connection gives.
func (l listener) awaitConnection(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	require.Eventually(t, func() bool { return l.logged.Count("notifications arrive") == 1 }, 20*time.Second,
		time.Millisecond)
	<-wake
}

// Pins tickets of Open Match that the director loop found a second late, and notices that such tickets cost where no
// loop decides.
func TestTicketsOfOpenMatchWakeTheDirectorLoop(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	loop, frontend := newListener(t, url), newListener(t, url)
	wake, _ := loop.Subscribe(TopicQueue, "global")
	loop.awaitConnection(t, wake)
	create := func() string {
		t.Helper()
		k, err := frontend.CreateTicket(t.Context(), "global",
			NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }})
		require.NoError(t, err)
		return k.ID
	}
	deleted, _ := loop.Subscribe(TopicTickets, "global")
	require.NoError(t, frontend.DeleteTicket(t.Context(), "global", create()))
	notifytest.RequireWoken(t, deleted, "deleted")
	notifytest.RequireAsleep(t, wake, "nobody decides for a profile")

	worker := uuid.New()
	require.NoError(t, loop.RenewLoopWorker(t.Context(), LoopWorker{ID: worker}, time.Hour))
	_, err := loop.TakeProfiles(t.Context(), "global", worker, []string{"duel"})
	require.NoError(t, err)
	frontend.decidingRegions.mu.Lock()
	frontend.decidingRegions.byRegion = nil // a second later
	frontend.decidingRegions.mu.Unlock()
	id := create()
	notifytest.RequireWoken(t, wake, "created")
	_, err = frontend.UpdateTicket(t.Context(), "global", id,
		NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }})
	require.NoError(t, err)
	notifytest.RequireWoken(t, wake, "changed")
	require.NoError(t, frontend.ReleaseTickets(t.Context(), "global", []string{id}))
	notifytest.RequireWoken(t, wake, "released")

	_, err = frontend.CreateBackfill(t.Context(), "global",
		NewBackfill{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }})
	require.NoError(t, err)
	must.Get(frontend.pool.Exec(t.Context(), "UPDATE backfills SET acked_at = '-infinity'"))(t)
	require.Equal(t, 1, must.Get(frontend.SweepBackfills(t.Context(), "global", 10))(t))
	notifytest.RequireWoken(t, wake, "of a backfill that has expired")
}

func TestReplicasNotifyEachOther(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newListener(t, url), newListener(t, url)
	eu, stop := there.Subscribe(TopicTickets, "eu")
	us, _ := there.Subscribe(TopicTickets, "us")
	cycle, _ := there.Subscribe(TopicCycle, "eu")
	there.awaitConnection(t, eu)
	drained(us)
	drained(cycle)

	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, eu, "notified by another replica")
	here.Notify(TopicCycle, "eu")
	notifytest.RequireWoken(t, cycle, "notifications of another topic arrive by the same connection")
	notifytest.RequireAsleep(t, us, "no notification for this region")
	notifytest.RequireAsleep(t, eu, "notified once")

	there.Notify(TopicTickets, "us")
	notifytest.RequireWoken(t, us, "notified by the same replica")
	stop()
	here.Notify(TopicTickets, "eu")
	here.Notify(TopicCycle, "eu")
	notifytest.RequireWoken(t, cycle, "the other subscriptions continue")
	notifytest.RequireAsleep(t, eu, "this subscription has stopped")
	require.Equal(t, 1, listeners(t, url, "count(*)"), "one connection for each replica with subscribers")
}

// A replica that shuts down right after a commit must still notify the others, which would find the change by polling
// only.
func TestCloseSendsTheLastNotification(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newListener(t, url), newListener(t, url)
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.awaitConnection(t, wake)
	here.Notify(TopicTickets, "eu")
	here.Close()
	notifytest.RequireWoken(t, wake, "")
}

// Pins notifications that are lost while the listening connection is down.
func TestAKilledListenerReconnects(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newListener(t, url), newListener(t, url)
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.awaitConnection(t, wake)
	for range 3 {
		n := there.logged.Count("notifications arrive")
		require.Equal(t, 1, listeners(t, url, "count(pg_terminate_backend(pid))"))
		here.Notify(TopicTickets, "eu") // the listener may be down
		notifytest.RequireWoken(t, wake, "each new connection wakes the subscribers")
		require.Eventually(t, func() bool { return there.logged.Count("notifications arrive") > n }, 20*time.Second,
			time.Millisecond)
		drained(wake)
		here.Notify(TopicTickets, "eu")
		notifytest.RequireWoken(t, wake, "the new connection listens")
	}
	require.Equal(t, 3, there.logged.Count("notifications do not arrive"), "each outage is logged once")
}

func drained(wake <-chan struct{}) {
	select {
	case <-wake:
	default:
	}
}

// A transaction pooler passes no notifications on: LISTEN would succeed without effect.
func TestBehindAPoolerNoReplicaListens(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newListener(t, url, pooled), newListener(t, url, pooled)
	mine, _ := here.Subscribe(TopicTickets, "eu")
	others, _ := there.Subscribe(TopicTickets, "eu")
	_, _ = there.Subscribe(TopicCycle, "eu")
	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, mine, "a replica's own notifications do not need the database")
	require.Eventually(t, func() bool { return there.logged.Count("level=WARN") == 1 }, 5*time.Second, time.Millisecond)
	here.Close()
	there.Close()
	notifytest.RequireAsleep(t, others, "")
	require.Equal(t, 1, there.logged.Count("DATABASE_URL_DIRECT"), "logged once")
	require.Zero(t, listeners(t, url, "count(*)"))
}

func TestReplicasListenByTheDirectURL(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here := newListener(t, url, pooled)
	there := newListener(t, url, pooled, func(c *Config) { c.DirectURL = url })
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.awaitConnection(t, wake)
	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, wake, "")
	require.Zero(t, there.logged.Count("level=WARN"))
}

func pooled(c *Config) { c.Pooler = "pgbouncer" }

func TestOpenRejectsAnInvalidDirectURL(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{URL: "postgres://h/d", DirectURL: "postgres://h:port/d"})
	require.ErrorContains(t, err, "DATABASE_URL_DIRECT")
}

// listeners reads an aggregate of the connections that listen in a database.
func listeners(t *testing.T, url, aggregate string) (n int) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+aggregate+" FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN director'").Scan(&n))
	return n
}
