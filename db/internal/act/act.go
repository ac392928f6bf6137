// Package act calls functions of schema ops in the name of a person. Operators call the same functions in SQL, so that
// what they decide and the events that they write do not depend on where a change comes from.
package act

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CallAs calls a function of schema ops in a transaction, and makes the actor the actor of the whole transaction; "" is
// the login of the database. Events of the call that have no reason get this one, unless it is "". Errors: those of
// call, which Refusal translates.
func CallAs(
	ctx context.Context, q *query.Queries, actor, reason string, call func(*query.Queries) (bool, error),
) (changed bool, err error) {
	if err := q.SetActor(ctx, actor); err != nil {
		return false, err
	}
	changed, err = call(q)
	if err != nil || !changed || reason == "" {
		return changed, err
	}
	return true, q.GiveReason(ctx, reason)
}

// Refusal turns the refusal of a function of schema ops into a [fault.Error], and classifies other errors.
func Refusal(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return frame.Classify(err)
	}
	kinds := map[string]fault.Kind{
		"P0002": fault.NotFound, // no_data_found
		"55000": fault.Conflict, // object_not_in_prerequisite_state
		"22023": fault.Invalid,  // invalid_parameter_value
	}
	codes := map[fault.Kind]string{fault.NotFound: "not_found", fault.Conflict: "conflict", fault.Invalid: "invalid"}
	kind, known := kinds[pg.Code]
	if !known {
		return frame.Classify(err)
	}
	return &fault.Error{Kind: kind, Code: codes[kind], Detail: pg.Message, Err: err}
}
