package notify

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// Config says how a [Bus] reaches Postgres.
type Config struct {
	// SendPayload runs NOTIFY on [Channel] with a payload, in a transaction of its own: transactions that notify commit
	// one after the other.
	SendPayload func(ctx context.Context, payload string) error
	// Listen is the connection that listens. It must not lead through a transaction pooler, which passes no notices on.
	Listen *pgx.ConnConfig
	// PrepareConn sets up the listening connection.
	PrepareConn func(context.Context, *pgx.Conn) error
	// OnlyPooler means that only a pooler leads to the database: the bus does not listen, and logs that once.
	OnlyPooler bool
	// UrgentTopics lists the topics whose notices are sent 2 ms after the previous one instead of 10 ms.
	UrgentTopics []string
	Log          *slog.Logger
}
