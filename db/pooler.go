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

// PoolerHint says what to set where err is one that only a pooler causes, set up differently than the director was told; "" for
// any other error.
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

// hinted puts the hint before the error, for logs.
func hinted(err error) error {
	if hint := PoolerHint(err); hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

// poolerTroubleLasts is for how long an error of a pooler counts: with the wrong setting several calls fail each second.
const poolerTroubleLasts = 10 * time.Second

// poolerTrouble remembers the last error that a pooler caused on any connection. It is safe for concurrent use.
type poolerTrouble struct{ last atomic.Pointer[poolerError] }

type poolerError struct {
	hint string
	at   time.Time
}

// watch is the handler of a connection's errors that looks at them before next does.
func (p *poolerTrouble) watch(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, pg *pgconn.PgError) bool {
		if hint := poolerHint(pg); hint != "" {
			p.last.Store(&poolerError{hint, time.Now()})
		}
		return next(conn, pg)
	}
}

// PoolerTrouble says what to set when a pooler has broken a statement or a connection in the last 10 seconds; "" when it has not.
// It asks nobody.
func (s *Store) PoolerTrouble() string {
	if e := s.pooler.last.Load(); e != nil && time.Since(e.at) < poolerTroubleLasts {
		return e.hint
	}
	return ""
}
