package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/internal/base/panics"
)

// subscription is a wake-up channel for the notices of a topic and a region, or for those about one key.
type subscription struct {
	notice   notice
	shortKey string // the shortened key, or wholeTopic
	wake     chan struct{}
}

// wholeTopic is the key of subscriptions to all notices of a topic and a region.
const wholeTopic = ""

func (s *subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is in the channel already
	}
}

// listener holds one connection that receives the notices of other replicas, and wakes subscribers. A dead connection,
// and one that leads through a pooler in transaction mode, may never return an error. So the listener sends itself an
// echo through the pool when the connection has been quiet, and makes a new connection when the echo does not arrive.
type listener struct {
	cfg         Config
	self        string // the sender of this replica's notices, which woke its subscribers already
	sendEcho    func() // sends a notice that the connection must receive
	quietTime   time.Duration
	echoTimeout time.Duration

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu            sync.Mutex
	subsByNotice  map[notice]map[string]map[*subscription]struct{} // by notice and shortened key
	feedsByNotice map[notice]map[*Feed]struct{}
	hasStarted    bool
}

// topicEcho is the topic of notices that a listener has sent to itself.
const topicEcho = "echo"

const (
	quietTime   = 30 * time.Second // after which a silent connection must prove that it is alive
	echoTimeout = 5 * time.Second
)

func newListener(cfg Config, self string, echo func()) *listener {
	l := &listener{
		cfg: cfg, self: self, sendEcho: echo, quietTime: quietTime, echoTimeout: echoTimeout,
		subsByNotice:  map[notice]map[string]map[*subscription]struct{}{},
		feedsByNotice: map[notice]map[*Feed]struct{}{},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *listener) addSubscription(sub *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subsByNotice[sub.notice] == nil {
		l.subsByNotice[sub.notice] = map[string]map[*subscription]struct{}{}
	}
	if l.subsByNotice[sub.notice][sub.shortKey] == nil {
		l.subsByNotice[sub.notice][sub.shortKey] = map[*subscription]struct{}{}
	}
	l.subsByNotice[sub.notice][sub.shortKey][sub] = struct{}{}
	l.start()
}

func (l *listener) addFeed(f *Feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feedsByNotice[f.notice] == nil {
		l.feedsByNotice[f.notice] = map[*Feed]struct{}{}
	}
	l.feedsByNotice[f.notice][f] = struct{}{}
	l.start()
}

// start begins to listen, for the first subscriber. The caller holds mu.
func (l *listener) start() {
	if !l.hasStarted && l.ctx.Err() == nil {
		l.hasStarted = true
		l.running.Go(l.run)
	}
}

func (l *listener) removeSubscription(sub *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	byKey := l.subsByNotice[sub.notice]
	// Empty maps are deleted with their last subscriber: there may be a key for each player.
	delete(byKey[sub.shortKey], sub)
	if len(byKey[sub.shortKey]) == 0 {
		delete(byKey, sub.shortKey)
	}
	if len(byKey) == 0 {
		delete(l.subsByNotice, sub.notice)
	}
}

func (l *listener) removeFeed(f *Feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.feedsByNotice[f.notice], f)
	if len(l.feedsByNotice[f.notice]) == 0 {
		delete(l.feedsByNotice, f.notice)
	}
}

// wakeSubscribers wakes the subscribers to the keys of a notice, without keys all.
func (l *listener) wakeSubscribers(what notice, keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.feedsByNotice[what] {
		f.addNotice(keys)
	}
	byKey := l.subsByNotice[what]
	// Without keys, there may be something new about any key.
	if len(keys) == 0 {
		signalAll(byKey)
		return
	}
	signalEach(byKey[wholeTopic])
	for _, key := range keys {
		signalEach(byKey[key])
	}
}

// wakeAll wakes all subscribers.
func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, byKey := range l.subsByNotice {
		signalAll(byKey)
	}
	for _, feeds := range l.feedsByNotice {
		for f := range feeds {
			f.addNotice(nil)
		}
	}
}

func signalAll(byKey map[string]map[*subscription]struct{}) {
	for _, subs := range byKey {
		signalEach(subs)
	}
}

func signalEach(subs map[*subscription]struct{}) {
	for sub := range subs {
		sub.signal()
	}
}

func (l *listener) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.running.Wait()
}

// run listens until the listener is closed. It logs once when notices stop arriving and once when they arrive again.
func (l *listener) run() {
	// A pooler in transaction mode gives the session to other clients after the LISTEN, which would then get the
	// notices.
	if l.cfg.OnlyPooler {
		l.cfg.Log.LogAttrs(l.ctx, slog.LevelWarn,
			"other replicas' changes are found by polling only: poolers pass no notifications on, and DATABASE_URL_DIRECT is not set")
		return
	}
	retry := newRetry()
	hasFailed := false
	for l.ctx.Err() == nil {
		received, err := l.listenSafely(l.ctx)
		if received {
			retry.Reset()
		}
		// Only the first of several failures in a row is logged.
		if (received || !hasFailed) && l.ctx.Err() == nil {
			hasFailed = true
			l.cfg.Log.LogAttrs(l.ctx, slog.LevelWarn,
				"other replicas' changes are found by polling: notifications do not arrive", slog.Any("error", err))
		}
		waitUntilDone(retry.NextBackOff(), l.ctx.Done())
	}
}

// newRetry returns the pauses between attempts to listen: up to a second, as those of the pool, so that after an outage
// notices arrive as soon as queries are answered.
func newRetry() *backoff.ExponentialBackOff {
	retry := backoff.NewExponentialBackOff() // whose pauses differ by half
	retry.InitialInterval, retry.Multiplier, retry.MaxInterval = 50*time.Millisecond, 2, 650*time.Millisecond
	return retry
}

// listenSafely is listen, but returns a panic as an error, so that the listener makes a new connection.
func (l *listener) listenSafely(ctx context.Context) (received bool, err error) {
	err = panics.Catch(func() (err error) { received, err = l.listen(ctx); return err })
	if p, ok := errors.AsType[*panics.Error](err); ok {
		l.cfg.Log.LogAttrs(l.ctx, slog.LevelError, "listening for notices panicked", p.Attrs()...)
	}
	return received, err
}

// listen listens on one connection until it fails, and reports whether any notice arrived. It wakes all subscribers
// first, because notices were lost while no connection listened.
func (l *listener) listen(ctx context.Context) (received bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.cfg.Listen)
	if err != nil {
		return false, err
	}
	defer closeConn(conn)
	if err := l.cfg.PrepareConn(ctx, conn); err != nil {
		return false, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return false, err
	}
	l.wakeAll()
	for {
		if err := l.awaitEcho(ctx, conn); err != nil {
			return received, err
		}
		if !received {
			received = true
			l.cfg.Log.LogAttrs(l.ctx, slog.LevelInfo, "notifications arrive")
		}
		if err := l.receiveUntilQuiet(ctx, conn); err != nil {
			return true, err
		}
	}
}

var errNoEcho = errors.New("the connection does not receive notifications: does it lead through a pooler?")

// awaitEcho sends an echo and waits for a notice. Any notice proves that the connection is alive.
func (l *listener) awaitEcho(ctx context.Context, conn *pgx.Conn) error {
	l.sendEcho()
	err := l.receive(ctx, conn, l.echoTimeout)
	if pgconn.Timeout(err) {
		return errNoEcho
	}
	return err
}

// receiveUntilQuiet returns nil when no notice has arrived for quietTime.
func (l *listener) receiveUntilQuiet(ctx context.Context, conn *pgx.Conn) error {
	for {
		err := l.receive(ctx, conn, l.quietTime)
		if pgconn.Timeout(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// receive waits for the next notice and wakes its subscribers. After a timeout the connection is still usable.
func (l *listener) receive(ctx context.Context, conn *pgx.Conn, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		return err
	}
	if what, sender, keys := parseNotice(n.Payload); sender != l.self {
		l.wakeSubscribers(what, keys)
	}
	return nil
}

// closeConn closes the connection in order, so that Postgres does not log a lost client; it does not wait for a dead
// one.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// waitUntilDone returns after d, or when done is closed.
func waitUntilDone(d time.Duration, done <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-done:
	}
}
