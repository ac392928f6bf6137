package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Subscribe gives a channel on which there is something once a topic has been notified of in a region, by any replica. It
// holds one: who is woken reads everything there is. It wakes as well when notices may have been lost, which is whenever
// the listening connection was made anew; and where none can be made it wakes for this replica's own notices only. So
// look now and then without being woken. Call stop when done.
//
// All subscribers share one connection beside the pool, which is made with the first of them and kept until Close.
func (s *Store) Subscribe(topic, region string) (wake <-chan struct{}, stop func()) {
	sub := &subscription{notice: notice{topic, region}, wake: make(chan struct{}, 1)}
	s.listener.add(sub)
	return sub.wake, func() { s.listener.remove(sub) }
}

type subscription struct {
	notice

	wake chan struct{}
}

func (s *subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default: // it rings already
	}
}

// A listener keeps one connection that hears other replicas, and wakes who subscribed. A connection may be dead, or lead
// through a pooler that lends it a session per transaction, without an error ever: so one that is silent is sent an echo
// over the pool, and where that does not arrive it is made anew.
type listener struct {
	config   *pgx.ConnConfig
	mute     bool // a pooler is in the way, and nothing leads around it
	log      *slog.Logger
	echo     func()        // has a notice sent that comes back to us
	quiet    time.Duration // is not suspicious
	patience time.Duration // with an echo

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	subs    map[*subscription]struct{}
	started bool
	self    string // sends what is ours, of which we know already
}

const topicEcho = "echo"

func listenConfig(cfg Config) (*pgx.ConnConfig, error) {
	pc, err := pgxpool.ParseConfig(cmp.Or(cfg.DirectURL, cfg.URL))
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL_DIRECT: %w", err)
	}
	introduce(pc.ConnConfig)
	return pc.ConnConfig, nil
}

func newListener(cfg Config, config *pgx.ConnConfig, self string, echo func()) *listener {
	l := &listener{
		config: config, mute: cfg.Pooler != "" && cfg.DirectURL == "", log: cfg.Log,
		self: self, echo: echo, quiet: 30 * time.Second, patience: 5 * time.Second, subs: map[*subscription]struct{}{},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *listener) add(sub *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs[sub] = struct{}{}
	if !l.started && l.ctx.Err() == nil {
		l.started = true
		l.running.Go(l.run)
	}
}

func (l *listener) remove(sub *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subs, sub)
}

func (l *listener) wake(what notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for sub := range l.subs {
		if sub.notice == what {
			sub.ring()
		}
	}
}

func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for sub := range l.subs {
		sub.ring()
	}
}

func (l *listener) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.running.Wait()
}

// run listens until the end, and says once when it cannot, and when it can again.
func (l *listener) run() {
	if l.mute {
		l.log.LogAttrs(l.ctx, slog.LevelWarn, "other replicas' changes are found by polling only: poolers pass no notifications on, and DATABASE_URL_DIRECT is not set")
		return
	}
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.Multiplier, retry.MaxInterval = 50*time.Millisecond, 2, 5*time.Second
	failing := false
	for l.ctx.Err() == nil {
		heard, err := l.followSafely(l.ctx)
		if heard {
			retry.Reset()
		}
		if (heard || !failing) && l.ctx.Err() == nil {
			failing = true
			l.log.LogAttrs(l.ctx, slog.LevelWarn, "other replicas' changes are found by polling: notifications do not arrive", slog.Any("error", err))
		}
		pause(l.ctx, retry.NextBackOff())
	}
}

var errDeaf = errors.New("the connection does not hear what is notified of: does it lead through a pooler?")

// followSafely is follow; a panic is an error of that connection, and the next one is made.
func (l *listener) followSafely(ctx context.Context) (heard bool, err error) {
	err = withoutPanic(func() (err error) { heard, err = l.follow(ctx); return err })
	if bug, ok := errors.AsType[*panicError](err); ok {
		l.log.LogAttrs(ctx, slog.LevelError, "listening for notices panicked", bug.attrs()...)
	}
	return heard, err
}

// follow listens on one connection for as long as it hears something. Whoever subscribed is woken first, since nobody listened
// until now.
func (l *listener) follow(ctx context.Context) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	if err := introduceTimeouts(ctx, conn, listenerTimeouts()); err != nil {
		return false, err
	}
	if _, err := conn.Exec(ctx, "LISTEN director"); err != nil {
		return false, err
	}
	l.wakeAll()
	for {
		if err := l.hearEcho(ctx, conn); err != nil {
			return heard, err
		}
		if !heard {
			heard = true
			l.log.LogAttrs(ctx, slog.LevelInfo, "notifications arrive")
		}
		if err := l.hearAll(ctx, conn); err != nil {
			return true, err
		}
	}
}

// hearEcho makes sure that something arrives. Any notice will do.
func (l *listener) hearEcho(ctx context.Context, conn *pgx.Conn) error {
	l.echo()
	err := l.hear(ctx, conn, l.patience)
	if pgconn.Timeout(err) {
		return errDeaf
	}
	return err
}

// hearAll returns once nothing has come for a while.
func (l *listener) hearAll(ctx context.Context, conn *pgx.Conn) error {
	for {
		err := l.hear(ctx, conn, l.quiet)
		if pgconn.Timeout(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hear passes on the next notice. Errors: a timeout after so long, which leaves the connection as it is.
func (l *listener) hear(ctx context.Context, conn *pgx.Conn, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		return err
	}
	topic, rest, _ := strings.Cut(n.Payload, ":")
	region, sender, _ := strings.Cut(rest, ":")
	if sender != l.self {
		l.wake(notice{topic, region})
	}
	return nil
}

// hangUp says goodbye, so that Postgres does not log a lost client; it does not wait for one that is lost.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
