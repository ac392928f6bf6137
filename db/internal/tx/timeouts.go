package tx

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Timeouts bound how long Postgres waits for one client. A process that stops in the middle of a transaction (SIGSTOP,
// a paused virtual machine, a cut network) keeps its row locks until Postgres ends the transaction, and every other
// transaction that needs these rows waits that long. The defaults of Postgres wait for ever. Zero leaves a setting as
// the server or the role has it.
type Timeouts struct {
	Idle        time.Duration // idle_in_transaction_session_timeout
	Statement   time.Duration // statement_timeout
	Transaction time.Duration // transaction_timeout; Postgres 17 and newer
	Unacked     time.Duration // tcp_user_timeout; of a connection, not of a transaction
}

// disconnectionCheck is client_connection_check_interval: how soon a statement ends after its client has disconnected.
const disconnectionCheck = 500 * time.Millisecond

// timeoutsKey is where a connection remembers the timeouts of its session. A connection through a pooler has none.
const timeoutsKey = "director timeouts"

// InitSession sets the timeouts of a new connection, in one round trip with other statements, such as "SET jit = off".
//
// A transaction pooler lends one server connection to several clients, so settings of the session would reach other
// clients, and it rejects start-up parameters. Postgres sends its process id when a connection starts; a pooler invents
// one. So InitSession sets timeouts only where the process id is right. Elsewhere each transaction sets its own.
func InitSession(ctx context.Context, conn *pgx.Conn, t Timeouts, others ...string) error {
	setTimeouts := fmt.Sprintf("SELECT %s WHERE pg_backend_pid() = %d", t.setConfig(conn, sessionWide),
		conn.PgConn().PID())
	tag, err := conn.Exec(ctx, strings.Join(append(others, setTimeouts), "; "), pgx.QueryExecModeSimpleProtocol)
	if err == nil && tag.RowsAffected() == 1 {
		conn.PgConn().CustomData()[timeoutsKey] = t
	}
	return err
}

// beginStatements returns the statements that begin a transaction with these timeouts: BEGIN, and one that sets what
// differs from the session.
func (t Timeouts) beginStatements(conn *pgx.Conn) []string {
	session, _ := conn.PgConn().CustomData()[timeoutsKey].(Timeouts)
	if t.Idle == session.Idle {
		t.Idle = 0
	}
	if t.Statement == session.Statement {
		t.Statement = 0
	}
	if calls := t.setConfig(conn, transactionWide); calls != "" {
		return []string{"begin", "SELECT " + calls}
	}
	return []string{"begin"}
}

// scope is how long a setting lasts: the third argument of set_config.
type scope bool

const (
	sessionWide     scope = false
	transactionWide scope = true
)

// setConfig returns a call of set_config for each timeout that is not zero, so that one statement makes all settings.
func (t Timeouts) setConfig(conn *pgx.Conn, lasts scope) string {
	var calls []string
	set := func(name string, d time.Duration) {
		if d > 0 {
			calls = append(calls, fmt.Sprintf("set_config('%s', '%d', %t)", name, d.Milliseconds(), lasts))
		}
	}
	set("idle_in_transaction_session_timeout", t.Idle)
	set("statement_timeout", t.Statement)
	if majorVersion(conn) >= 17 {
		set("transaction_timeout", t.Transaction)
	}
	if lasts == sessionWide {
		set("tcp_user_timeout", t.Unacked)
		set("client_connection_check_interval", disconnectionCheck)
		// A host that loses power closes no connection: its idle connections would count against max_connections for
		// two hours, by the default of Linux.
		calls = append(calls, "set_config('tcp_keepalives_idle', '10', false)",
			"set_config('tcp_keepalives_interval', '5', false)")
	}
	return strings.Join(calls, ", ")
}

// majorVersion returns the major version of the server, 0 if it is not known.
func majorVersion(conn *pgx.Conn) int {
	text := conn.PgConn().ParameterStatus("server_version") // such as "17.2 (Debian 17.2-1)" or "18beta1"
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		text = text[:end]
	}
	n, _ := strconv.Atoi(text)
	return n
}
