package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// leaveGrace is how long a statement may still run after its caller has gone. Most are done within milliseconds.
const leaveGrace = time.Second

// leaveHandler lets a statement finish although the context of its caller was canceled, so that the connection stays
// usable. pgx closes it at once otherwise, and callers that reset their requests by the thousand would make Postgres start
// a backend for each. The call itself lasts until the statement has ended, so whatever bounds calls also bounds these.
//
// The grace is for the statement that runs: a canceled context begins no other one, and a transaction is rolled back. A
// context whose deadline has passed ends its statement at once, as the time is used up.
type leaveHandler struct {
	pgconn.DeadlineContextWatcherHandler
}

func newLeaveHandler(conn *pgconn.PgConn) ctxwatch.Handler {
	return &leaveHandler{pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}}
}

// HandleCancel implements ctxwatch.Handler.
func (h *leaveHandler) HandleCancel(ctx context.Context) {
	h.DeadlineDelay = 0
	if errors.Is(ctx.Err(), context.Canceled) {
		h.DeadlineDelay = leaveGrace
	}
	h.DeadlineContextWatcherHandler.HandleCancel(ctx)
}
