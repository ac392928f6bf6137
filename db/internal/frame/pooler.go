package frame

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	hintPrepared = "the connection leads through a transaction pooler that does not track prepared statements: set DIRECTOR_POOLER=pgbouncer"
	hintStartup  = "the pooler refuses a start-up parameter: take it out of DATABASE_URL, set it on the role instead, or list it in the pooler's ignore_startup_parameters"
)

// PoolerHint returns the setting to change when err is one that only a pooler causes, because the director's settings
// do not match it; "" for any other error.
func PoolerHint(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return ""
	}
	return HintFor(pg)
}

// HintFor returns the [PoolerHint] of an error of Postgres.
func HintFor(pg *pgconn.PgError) string {
	switch {
	case pg.Code == "26000", pg.Code == "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		return hintPrepared
	case pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter"): // protocol_violation
		return hintStartup
	}
	return ""
}

// addHint adds the hint to the text of the error, for logs.
func addHint(err error) error {
	if hint := PoolerHint(err); hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}
