package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// feed follows ops.event_feed, as a program does that must not miss an event: from a cursor.
type feed struct {
	db *pgxpool.Pool
	tx string
	id uuid.UUID
}

// lifecycle is an event that the director wrote.
type lifecycle struct {
	Tx                     string
	ID                     uuid.UUID
	Kind, Instance, Reason string
}

func newFeed(db *pgxpool.Pool) *feed { return &feed{db: db, tx: "0"} }

// next returns what has come since the last call.
func (f *feed) next(ctx context.Context) ([]lifecycle, error) {
	rows, _ := f.db.Query(ctx, `
		SELECT tx::text, id, kind, coalesce(instance, ''), coalesce(detail ->> 'reason', '') FROM ops.event_feed
		WHERE (tx, id) > ($1::text::xid8, $2) ORDER BY tx, id LIMIT 1000`, f.tx, f.id) // The error comes again from the rows.
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lifecycle])
	if len(events) > 0 {
		last := events[len(events)-1]
		f.tx, f.id = last.Tx, last.ID
	}
	return events, err
}
