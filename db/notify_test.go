package db

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/db/internal/notify/notifytest"
	"github.com/lattice-director/director/internal/logtest"
)

// ears is a store that listens, and what it logged.
type ears struct {
	*Store
	logged *logtest.Buffer
}

func newEars(t *testing.T, url string, change ...func(*Config)) ears {
	t.Helper()
	e := ears{logged: &logtest.Buffer{}}
	cfg := Config{URL: url, MaxConns: 4, Log: slog.New(slog.NewTextHandler(e.logged, nil))}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	e.Store, err = Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// hears waits until notices of others arrive. The wake that comes with a new connection is swallowed.
func (e ears) hears(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	require.Eventually(t, func() bool { return e.logged.Count("notifications arrive") == 1 }, 20*time.Second, time.Millisecond)
	<-wake
}

func TestReplicasHearEachOther(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newEars(t, url), newEars(t, url)
	eu, stop := there.Subscribe(TopicTickets, "eu")
	us, _ := there.Subscribe(TopicTickets, "us")
	cycle, _ := there.Subscribe(TopicCycle, "eu")
	there.hears(t, eu)
	drained(us)
	drained(cycle)

	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, eu, "another replica has news")
	here.Notify(TopicCycle, "eu")
	notifytest.RequireWoken(t, cycle, "another topic's notices come by the same connection")
	notifytest.RequireAsleep(t, us, "nothing happened in this region")
	notifytest.RequireAsleep(t, eu, "its news came once")

	there.Notify(TopicTickets, "us")
	notifytest.RequireWoken(t, us, "a replica hears itself")
	stop()
	here.Notify(TopicTickets, "eu")
	here.Notify(TopicCycle, "eu")
	notifytest.RequireWoken(t, cycle, "the others go on")
	notifytest.RequireAsleep(t, eu, "this one has stopped")
	require.Equal(t, 1, listening(t, url), "one connection a replica, where somebody subscribed")
}

// A replica that shuts down right after a commit must not leave the others to their slow look.
func TestTheLastNoticeIsHeard(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newEars(t, url), newEars(t, url)
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.hears(t, wake)
	here.Notify(TopicTickets, "eu")
	here.Close()
	notifytest.RequireWoken(t, wake, "")
}

// What is notified of while nobody listens must not be lost.
func TestAKilledListenerComesBack(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newEars(t, url), newEars(t, url)
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.hears(t, wake)
	for range 3 {
		n := there.logged.Count("notifications arrive")
		require.Equal(t, 1, kill(t, url))
		here.Notify(TopicTickets, "eu") // perhaps to nobody
		notifytest.RequireWoken(t, wake, "what was missed is read after each new connection")
		require.Eventually(t, func() bool { return there.logged.Count("notifications arrive") > n }, 20*time.Second, time.Millisecond)
		drained(wake)
		here.Notify(TopicTickets, "eu")
		notifytest.RequireWoken(t, wake, "the new connection listens")
	}
	require.Equal(t, 3, there.logged.Count("notifications do not arrive"), "each outage is told once")
}

func drained(wake <-chan struct{}) {
	select {
	case <-wake:
	default:
	}
}

// A pooler that lends sessions passes no notices on: LISTEN would only look as if it worked.
func TestBehindAPoolerNobodyListens(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := newEars(t, url, pooled), newEars(t, url, pooled)
	mine, _ := here.Subscribe(TopicTickets, "eu")
	others, _ := there.Subscribe(TopicTickets, "eu")
	_, _ = there.Subscribe(TopicCycle, "eu")
	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, mine, "its own news take no way over the database")
	require.Eventually(t, func() bool { return there.logged.Count("level=WARN") == 1 }, 5*time.Second, time.Millisecond)
	here.Close()
	there.Close()
	notifytest.RequireAsleep(t, others, "")
	require.Equal(t, 1, there.logged.Count("DATABASE_URL_DIRECT"), "said once")
	require.Zero(t, listening(t, url))
}

func TestAroundAPoolerItListens(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here := newEars(t, url, pooled)
	there := newEars(t, url, pooled, func(c *Config) { c.DirectURL = url })
	wake, _ := there.Subscribe(TopicTickets, "eu")
	there.hears(t, wake)
	here.Notify(TopicTickets, "eu")
	notifytest.RequireWoken(t, wake, "")
	require.Zero(t, there.logged.Count("level=WARN"))
}

func pooled(c *Config) { c.Pooler = "pgbouncer" }

func TestAWrongDirectURLIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{URL: "postgres://h/d", DirectURL: "postgres://h:port/d"})
	require.ErrorContains(t, err, "DATABASE_URL_DIRECT")
}

// listening counts the connections that listen in a database.
func listening(t *testing.T, url string) (n int) {
	t.Helper()
	askDirectly(t, url, "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN director'", &n)
	return n
}

func kill(t *testing.T, url string) (n int) {
	t.Helper()
	askDirectly(t, url, "SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN director'", &n)
	return n
}

func askDirectly(t *testing.T, url, sql string, into any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(into))
}
