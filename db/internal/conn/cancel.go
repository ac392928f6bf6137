// Package conn prepares connections to Postgres: how they encode arrays, what happens to a statement whose caller
// leaves, and how a pool finds out that its server does not answer any more.
package conn

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// cancelGrace is how long a statement may still run after its caller has left. Most statements end within milliseconds.
const cancelGrace = time.Second

// cancelHandler lets a running statement finish when the context of its caller is canceled, so that the connection
// stays usable. Without it pgx closes the connection at once, and callers that reset their requests by the thousand
// would make Postgres start a process for each. The call lasts until the statement ends, so a bound on calls also
// bounds these statements.
//
// Only the running statement gets the grace: with a canceled context no further statement begins, and a transaction is
// rolled back. A context whose deadline has passed ends its statement at once, because the time is used up.
type cancelHandler struct {
	deadline pgconn.DeadlineContextWatcherHandler // ends statements by a deadline of their connection
}

// NewCancelHandler is a BuildContextWatcherHandler of pgx.
func NewCancelHandler(conn *pgconn.PgConn) ctxwatch.Handler {
	return &cancelHandler{deadline: pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}}
}

// HandleCancel implements ctxwatch.Handler.
func (h *cancelHandler) HandleCancel(ctx context.Context) {
	h.deadline.DeadlineDelay = 0
	if errors.Is(ctx.Err(), context.Canceled) {
		h.deadline.DeadlineDelay = cancelGrace
	}
	h.deadline.HandleCancel(ctx)
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler: the statement has ended, and later ones have no deadline.
func (h *cancelHandler) HandleUnwatchAfterCancel() { h.deadline.HandleUnwatchAfterCancel() }
