package conn

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// uncheckedIdle is how long a connection may be idle and still be used without a check.
	uncheckedIdle = time.Second
	// answerTimeout bounds the answer to a check: as long as a new connection may take.
	answerTimeout = 2 * time.Second
)

// idleKey is where a connection remembers how long it was idle, from one hook of the pool to the next.
const idleKey = "director idle"

// OpenPool makes a pool that checks connections which were idle. A server whose machine loses its power or its network
// closes no connection: calls would wait for it until their deadlines, and would keep all connections of the pool
// meanwhile. So the first connection that does not answer ends all, and the next call makes a new one, to another host
// if DATABASE_URL names several. The config is for this pool alone. Errors: those of [pgxpool.NewWithConfig].
func OpenPool(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	(&hostOrder{}).install(config)
	opened := &openConns{madeAt: map[*pgconn.PgConn]time.Time{}}
	opened.install(config)
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		p.Conn.PgConn().CustomData()[idleKey] = p.IdleDuration
		return false
	}
	config.PrepareConn = func(ctx context.Context, c *pgx.Conn) (usable bool, _ error) {
		began := time.Now()
		if isAlive(ctx, c) {
			return true, nil
		}
		// A check that took longer than its timeout means that this process was stopped, not that the server is lost.
		if time.Since(began) < 2*answerTimeout {
			opened.endBefore(began)
		}
		return false, nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// isAlive checks a connection that was idle. It ignores the caller's deadline, whose end says nothing about the server.
func isAlive(ctx context.Context, c *pgx.Conn) bool {
	if idle, _ := c.PgConn().CustomData()[idleKey].(time.Duration); idle < uncheckedIdle {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	return c.Ping(ctx) == nil
}

// openConns are the connections of a pool, idle and in use, with the moments when they were made.
type openConns struct {
	mu     sync.Mutex
	madeAt map[*pgconn.PgConn]time.Time
}

// install sets the hooks of a pool. It calls the hook that is set already.
func (o *openConns) install(config *pgxpool.Config) {
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if prepare != nil {
			if err := prepare(ctx, c); err != nil {
				return err
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.madeAt[c.PgConn()] = time.Now()
		return nil
	}
	config.BeforeClose = func(c *pgx.Conn) {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.madeAt, c.PgConn())
	}
}

// endBefore ends the connections that were made before a moment. Statements that run on them fail, as they do when the
// server closes its connections.
func (o *openConns) endBefore(moment time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c, made := range o.madeAt {
		if made.Before(moment) {
			_ = c.Conn().Close()
		}
	}
}
