package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// timeouts bound how long Postgres waits for one client. A process that stops in the middle of a transaction (SIGSTOP, a
// paused virtual machine, a cut network) keeps its row locks until Postgres ends the transaction, and everybody who needs
// these rows waits that long. The server's defaults are "for ever", so the director sets its own on every connection.
// Zero leaves a setting as the server or the role has it.
//
//	what                                   idle       statement  transaction  unacknowledged
//	hot transactions (inTx)                3/8 hold   1/2 hold   1 hold       1 hold
//	bulk transactions (inBulkTx)           3/8 hold   30 s       1 min        1 hold
//	acceptance of a cycle's matches        1 hold     30 s       1 min        1 hold
//	statements outside transactions        -          5 min      -            1 hold
//	large readings (the readers' pool)     3/8 hold   1 min      -            1 min
//	listener                               -          10 s       -            10 s
//	migrations (migrations/provider.go)    2 s        -          -            10 s
//
// "hold" is Config.HoldTimeout, 2 s by default. A frozen process may have several transactions that wait for each other. Each
// statement of theirs ends after 1/2 hold at the latest, and the transaction after 3/8 hold more, which together is less
// than hold. A transaction that waits in several statements of one pipeline takes longer; since Postgres 17
// transaction_timeout bounds the whole, and it also ends a transaction whose client stopped in the middle of sending a
// pipeline, which the idle timeout does not see.
type timeouts struct {
	idle        time.Duration // idle_in_transaction_session_timeout
	statement   time.Duration // statement_timeout
	transaction time.Duration // transaction_timeout; only since Postgres 17
	unacked     time.Duration // tcp_user_timeout; for a whole connection only
}

// Statements of workers may last as long as the longest run of a worker's loop. Bulk transactions are bounded batches.
const (
	longestStatement   = 5 * time.Minute
	bulkStatement      = 30 * time.Second
	bulkTransaction    = time.Minute
	readingStatement   = time.Minute
	listenerStatement  = 10 * time.Second
	disconnectionCheck = 500 * time.Millisecond
)

func (c Config) idleTimeout() time.Duration { return c.HoldTimeout * 3 / 8 }

// sessionTimeouts are those of a connection of the pool; transactions narrow them.
func (c Config) sessionTimeouts() timeouts {
	return timeouts{idle: c.idleTimeout(), statement: longestStatement, unacked: c.HoldTimeout}
}

// A reader that is slow to take its rows shows the server a closed window, which counts as unacknowledged.
func (c Config) readerTimeouts() timeouts {
	return timeouts{idle: c.idleTimeout(), statement: readingStatement, unacked: readingStatement}
}

func (c Config) hotTimeouts() timeouts {
	return timeouts{idle: c.idleTimeout(), statement: c.HoldTimeout / 2, transaction: c.HoldTimeout}
}

func (c Config) bulkTimeouts() timeouts {
	return timeouts{idle: c.idleTimeout(), statement: bulkStatement, transaction: bulkTransaction}
}

// Deciding about 100,000 proposals takes Go some time, during which the transaction is idle.
func (c Config) acceptanceTimeouts() timeouts {
	return timeouts{idle: c.HoldTimeout, statement: bulkStatement, transaction: bulkTransaction}
}

func listenerTimeouts() timeouts {
	return timeouts{statement: listenerStatement, unacked: listenerStatement}
}

// timeoutsKey is where a connection remembers the timeouts that its session has. A connection by way of a pooler has none.
const timeoutsKey = "director timeouts"

// introduceTimeouts gives a new connection its timeouts, in one round trip with other settings, such as "SET jit = off".
//
// A transaction pooler lends the same server connection to others, so a session's settings would reach strangers, and it
// refuses start-up parameters. Postgres tells its process id when a connection starts; a pooler makes one up. So the settings
// are only made where the id is right; elsewhere begin makes them for each transaction.
func introduceTimeouts(ctx context.Context, conn *pgx.Conn, t timeouts, others ...string) error {
	own := fmt.Sprintf("SELECT %s WHERE pg_backend_pid() = %d", t.calls(conn, sessionWide), conn.PgConn().PID())
	tag, err := conn.Exec(ctx, strings.Join(append(others, own), "; "), pgx.QueryExecModeSimpleProtocol)
	if err == nil && tag.RowsAffected() == 1 {
		conn.PgConn().CustomData()[timeoutsKey] = t
	}
	return err
}

// begin returns the statements that begin a transaction with these timeouts: BEGIN, and one that sets what differs from the
// session.
func (t timeouts) begin(conn *pgx.Conn) []string {
	session, _ := conn.PgConn().CustomData()[timeoutsKey].(timeouts)
	if t.idle == session.idle {
		t.idle = 0
	}
	if t.statement == session.statement {
		t.statement = 0
	}
	if calls := t.calls(conn, transactionWide); calls != "" {
		return []string{"begin", "SELECT " + calls}
	}
	return []string{"begin"}
}

// scope is how long a setting lasts.
type scope bool

const (
	sessionWide     scope = false
	transactionWide scope = true
)

// calls are calls of set_config for what is not zero, which is one statement for all settings.
func (t timeouts) calls(conn *pgx.Conn, lasts scope) string {
	var calls []string
	set := func(name string, d time.Duration) {
		if d > 0 {
			calls = append(calls, fmt.Sprintf("set_config('%s', '%d', %t)", name, d.Milliseconds(), lasts))
		}
	}
	set("idle_in_transaction_session_timeout", t.idle)
	set("statement_timeout", t.statement)
	if majorVersion(conn) >= 17 {
		set("transaction_timeout", t.transaction)
	}
	if lasts == sessionWide {
		set("tcp_user_timeout", t.unacked)
		set("client_connection_check_interval", disconnectionCheck)
		// A host that lost power says nothing: its idle connections would count against max_connections for two hours.
		calls = append(calls, "set_config('tcp_keepalives_idle', '10', false)", "set_config('tcp_keepalives_interval', '5', false)")
	}
	return strings.Join(calls, ", ")
}

// majorVersion is the server's, 0 where it is not known.
func majorVersion(conn *pgx.Conn) int {
	text := conn.PgConn().ParameterStatus("server_version") // such as "17.2 (Debian 17.2-1)" or "18beta1"
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		text = text[:end]
	}
	n, _ := strconv.Atoi(text)
	return n
}
