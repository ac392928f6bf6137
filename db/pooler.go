package db

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	hintPrepared = "the connection leads through a transaction pooler that does not track prepared statements: set DIRECTOR_POOLER=pgbouncer"
	hintStartup  = "the pooler refuses a start-up parameter: take it out of DATABASE_URL, set it on the role instead, or list it in the pooler's ignore_startup_parameters"
)

// PoolerHint returns the setting to change when err is one that only a pooler causes, because the director's settings do not
// match it; "" for any other error.
func PoolerHint(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return ""
	}
	return poolerHint(pg)
}

func poolerHint(pg *pgconn.PgError) string {
	switch {
	case pg.Code == "26000", pg.Code == "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		return hintPrepared
	case pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter"): // protocol_violation
		return hintStartup
	}
	return ""
}

// hinted adds the hint to the text of the error, for logs.
func hinted(err error) error {
	if hint := PoolerHint(err); hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

// poolerErrorLasts is how long an error of a pooler counts: with the wrong setting, several calls fail each second.
const poolerErrorLasts = 10 * time.Second

// poolerErrors keeps the last error that a pooler caused on any connection. It is safe for concurrent use.
type poolerErrors struct{ last atomic.Pointer[poolerError] }

type poolerError struct {
	hint string
	at   time.Time
}

// watch returns a handler of a connection's errors that keeps those of poolers and then calls next.
func (p *poolerErrors) watch(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, pg *pgconn.PgError) bool {
		if hint := poolerHint(pg); hint != "" {
			p.last.Store(&poolerError{hint, time.Now()})
		}
		return next(conn, pg)
	}
}

// PoolerTrouble returns the setting to change when a pooler has broken a statement or a connection in the last 10 seconds; ""
// when none has. It does not query the database.
func (s *Store) PoolerTrouble() string {
	if e := s.pooler.last.Load(); e != nil && time.Since(e.at) < poolerErrorLasts {
		return e.hint
	}
	return ""
}
