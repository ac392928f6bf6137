package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// Trouble is something that does not work in a process and cannot be seen from outside, in words for operators.
type Trouble struct {
	Subject string `json:"subject"`           // what does not work, such as the setting of a key set
	State   string `json:"state"`             // "warn"; "fail": callers are refused because of it
	Says    string `json:"says"`              // what is wrong, with numbers
	Do      string `json:"do"`                // what to do
	Section string `json:"section,omitempty"` // the heading in docs/runbook.md that says more
}

// ReportProcess stores what the calling process reports of itself, with Config.Providers and Config.KeyEncryptionKeys,
// and so tests that the database takes writes: it writes the row of the process, and then a temporary file, since a
// full disk may have room for the row. It takes about a millisecond. Errors: Unavailable, or whatever Postgres answers,
// which internal/base/dbcause explains.
func (s *Store) ReportProcess(ctx context.Context, troubles []Trouble) error {
	list, err := json.Marshal(append([]Trouble{}, troubles...))
	if err != nil {
		return err
	}
	return s.writeProcessReport(ctx, query.ReportProcessParams{
		Process: s.processName(), Troubles: list,
		Providers:         append([]string{}, s.cfg.Providers...),
		KeyEncryptionKeys: append([]string{}, s.cfg.KeyEncryptionKeys...),
	})
}

// TryWrite tests that the database takes writes, as ReportProcess does. Its row is that of no process: it names no
// providers and no keys, which would count as those of a further process. Errors: those of ReportProcess.
func (s *Store) TryWrite(ctx context.Context) error {
	return s.writeProcessReport(ctx, query.ReportProcessParams{Process: "test of writes", Troubles: []byte("[]"),
		Providers: []string{}, KeyEncryptionKeys: []string{}})
}

// writeProcessReport writes the row of a process, and then lets Postgres write a temporary file.
func (s *Store) writeProcessReport(ctx context.Context, row query.ReportProcessParams) error {
	if err := s.frame.InTx(ctx, func(q *query.Queries) error { return q.ReportProcess(ctx, row) }); err != nil {
		return frame.Classify(err)
	}
	return frame.Classify(s.frame.InTx(ctx, func(q *query.Queries) error {
		_, err := q.SpillToDisk(ctx)
		return exceptLimit(err)
	}))
}

// exceptLimit drops the error of a server whose temp_file_limit allows less than the test writes: that limit does not
// concern rows.
func exceptLimit(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "53400" { // configuration_limit_exceeded
		return nil
	}
	return err
}

// EndProcessReport deletes the report of the calling process, which shuts down. Errors: Unavailable.
func (s *Store) EndProcessReport(ctx context.Context) error {
	return frame.Classify(s.q.EndProcess(ctx, s.processName()))
}

// ForgetProcesses deletes the reports of processes that have been silent for an hour, and returns their number. Errors:
// Unavailable.
func (s *Store) ForgetProcesses(ctx context.Context) (int, error) {
	n, err := s.q.ForgetProcesses(ctx)
	return int(n), frame.Classify(err)
}

// processName is the name of the connections, whatever DATABASE_URL calls them.
func (s *Store) processName() string { return cmp.Or(s.cfg.Name, "director") }
