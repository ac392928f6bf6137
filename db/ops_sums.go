package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// FleetCount is how many game servers of a region are in a state.
type FleetCount struct {
	Region        string
	State         string // as opsview.Instance.State returns it
	Instances     int32
	Capacity      int64 // seats
	ReservedSeats int64
	OpenSessions  int64
	Players       int64 // with a seat, connected or expected
}

// FleetCounts counts game servers by region and state. Errors: those of ReadOps.
func (s *Store) FleetCounts(ctx context.Context) ([]FleetCount, error) {
	rows, err := readSums(ctx, s, func(ctx context.Context,
		q *query.Queries) ([]query.FleetCountsRow, error) {
		return q.FleetCounts(ctx)
	})
	return convertRows(rows, func(r query.FleetCountsRow) FleetCount { return FleetCount(r) }), err
}

// FleetModes returns the modes that game servers offer, sorted, for filters: at most 1,000. Errors: those of ReadOps.
func (s *Store) FleetModes(ctx context.Context) ([]string, error) {
	return readSums(ctx, s, func(ctx context.Context, q *query.Queries) ([]string, error) { return q.FleetModes(ctx) })
}

// DeploymentOutcome is how many deployments of an app version ended for one reason.
type DeploymentOutcome struct {
	App        string
	Version    string
	Provider   string
	Reason     string
	Servers    int64
	WereReady  int64
	SlowestP95 float64 // seconds until ready, in the slowest minute; 0: none was ready
	LastError  string
}

// DeploymentOutcomes says why deployments ended in the last 24 hours, most servers first, at most 200 rows. Errors:
// those of ReadOps.
func (s *Store) DeploymentOutcomes(ctx context.Context) ([]DeploymentOutcome, error) {
	rows, err := readSums(ctx, s, func(ctx context.Context, q *query.Queries) ([]query.DeploymentOutcomesRow, error) {
		return q.DeploymentOutcomes(ctx)
	})
	return convertRows(rows, func(r query.DeploymentOutcomesRow) DeploymentOutcome { return DeploymentOutcome(r) }), err
}

// MinuteSample is a measure of a minute.
type MinuteSample struct {
	Minute  time.Time
	Measure string
	Subject string // what it is a measure of: a state, a profile; "": there is one
	Value   float64
}

// MinuteSamples returns measures of the last minutes, at most 360, oldest first, summed over all regions or, with a
// region, of that one; at most 20,000. Errors: those of ReadOps.
func (s *Store) MinuteSamples(ctx context.Context, region string, minutes int,
	measures ...string) ([]MinuteSample, error) {
	rows, err := readSums(ctx, s, func(ctx context.Context, q *query.Queries) ([]query.MinuteSamplesRow, error) {
		return q.MinuteSamples(ctx, query.MinuteSamplesParams{Region: region, Minutes: sinceMinutes(minutes),
			Measures: measures})
	})
	return convertRows(rows, func(r query.MinuteSamplesRow) MinuteSample { return MinuteSample(r) }), err
}

// sinceMinutes is how far back the last minutes begin, of which the present one has only begun.
func sinceMinutes(minutes int) time.Duration { return time.Duration(min(minutes, 360)+2) * time.Minute }

// EventsUntil returns the cursor before the events of a time and later ones: opsview.ReadEvents with it returns the
// events until then. An event has the time at which its transaction began, so that beside those of a long transaction
// it may be off by the length of that. Errors: those of ReadOps.
func (s *Store) EventsUntil(ctx context.Context, until time.Time) (opsview.EventCursor, error) {
	last, err := readSums(ctx, s, func(ctx context.Context,
		q *query.Queries) (uint64, error) {
		return q.EventsUntil(ctx, until)
	})
	return opsview.EventCursor{Tx: last, ID: uuid.Nil}, err
}

// readSums runs a statement of queries/ops_sums.sql.
func readSums[T any](ctx context.Context, s *Store,
	read func(context.Context, *query.Queries) (T, error)) (found T, err error) {
	err = s.readOps(ctx, func(ctx context.Context, t *tx.Tx) error {
		found, err = read(ctx, query.New(t))
		return err
	})
	return found, err
}

func convertRows[From, To any](rows []From, convert func(From) To) (all []To) {
	for _, r := range rows {
		all = append(all, convert(r))
	}
	return all
}
