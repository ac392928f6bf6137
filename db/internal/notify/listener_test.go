package notify

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/notify/notifytest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// newBus sends to one database and listens on another, or on the same.
func newBus(t *testing.T, sendTo, listenTo string, change func(*listener)) (*Bus, *logtest.Buffer) {
	t.Helper()
	log := &logtest.Buffer{}
	pool := must.Get(pgxpool.New(t.Context(), sendTo))(t)
	t.Cleanup(pool.Close)
	listen := must.Get(pgx.ParseConfig(listenTo))(t)
	b := New(Config{
		SendPayload: func(ctx context.Context, payload string) error {
			_, err := pool.Exec(ctx, "SELECT pg_notify($1, $2)", Channel, payload)
			return err
		},
		Listen: listen, PrepareConn: func(context.Context, *pgx.Conn) error { return nil },
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	change(b.listener)
	t.Cleanup(b.Close)
	return b, log
}

// A connection on which LISTEN succeeds may still receive nothing: it leads through an unknown pooler, or to another
// database. The listener detects that, logs it once, and reconnects.
func TestAListenerWithoutAnEchoReconnects(t *testing.T) {
	t.Parallel()
	b, log := newBus(t, dbtest.New(t), dbtest.New(t), func(l *listener) { l.echoTimeout = 20 * time.Millisecond })
	wake, _ := b.Subscribe("tickets", "eu")
	notifytest.RequireWoken(t, wake, "the first time")
	notifytest.RequireWoken(t, wake, "and again")
	require.Equal(t, 1, log.Count("does it lead through a pooler"))
	b.Notify("tickets", "eu")
	notifytest.RequireWoken(t, wake, "its own notices wake it all the same")
}

// A connection may be dead without an error: a quiet one must prove that it is alive.
func TestAQuietListenerSendsAnEcho(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{}, 5)
	url := dbtest.New(t)
	b, log := newBus(t, url, url, func(l *listener) {
		l.quietTime = time.Millisecond
		echo := l.sendEcho
		l.sendEcho = func() {
			echo()
			select {
			case sent <- struct{}{}:
			default:
			}
		}
	})
	_, stop := b.Subscribe("tickets", "eu")
	defer stop()
	for range 5 {
		<-sent
	}
	require.Zero(t, log.Count("level=WARN"), "the echo of a live connection arrives")
}
