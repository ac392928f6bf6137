package db

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
)

// PoolerHint returns the setting to change when err is one that only a pooler causes, because the director's settings
// do not match it; "" for any other error.
func PoolerHint(err error) string { return frame.PoolerHint(err) }

// poolerErrorLasts is how long an error of a pooler counts: with the wrong setting, several calls fail each second.
const poolerErrorLasts = 10 * time.Second

// poolerErrors keeps the last error that a pooler caused on any connection. It is safe for concurrent use.
type poolerErrors struct{ lastError atomic.Pointer[poolerError] }

type poolerError struct {
	hint   string
	seenAt time.Time
}

// watch returns a handler of a connection's errors that keeps those of poolers and then calls next.
func (p *poolerErrors) watch(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, pg *pgconn.PgError) bool {
		if hint := frame.HintFor(pg); hint != "" {
			p.lastError.Store(&poolerError{hint, time.Now()})
		}
		return next(conn, pg)
	}
}
