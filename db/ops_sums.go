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
	Capacity      int64 // of all of them, in seats
	ReservedSeats int64
	OpenSessions  int64
	Players       int64 // with a seat, connected or expected
}

// FleetCounts counts game servers by region and state. Errors: those of ReadOps.
func (s *Store) FleetCounts(ctx context.Context) ([]FleetCount, error) {
	rows, err := readSums(ctx, s, (*query.Queries).FleetCounts)
	return convertRows(rows, func(r query.FleetCountsRow) FleetCount { return FleetCount(r) }), err
}

// FleetModes returns the modes that game servers offer, sorted, for filters: at most 1,000. Errors: those of ReadOps.
func (s *Store) FleetModes(ctx context.Context) ([]string, error) {
	return readSums(ctx, s, (*query.Queries).FleetModes)
}

// DeploymentOutcome is how many deployments of an app version ended for one reason.
type DeploymentOutcome struct {
	App        string
	Version    string
	Provider   string
	Reason     string
	Servers    int64
	WereReady  int64   // of the Servers
	SlowestP95 float64 // seconds until ready, in the slowest minute; 0: none was ready
	LastError  string  // of the provider; "": none
}

// DeploymentOutcomes counts the deployments that ended in the last 24 hours by the reasons, most servers first, at most
// 200 rows. Errors: those of ReadOps.
func (s *Store) DeploymentOutcomes(ctx context.Context) ([]DeploymentOutcome, error) {
	rows, err := readSums(ctx, s, (*query.Queries).DeploymentOutcomes)
	return convertRows(rows, func(r query.DeploymentOutcomesRow) DeploymentOutcome { return DeploymentOutcome(r) }), err
}

// MinuteSample is a measure of a minute.
type MinuteSample struct {
	Minute  time.Time
	Measure string
	Subject string // what it is a measure of, such as a state or a profile; "": of the whole
	Value   float64
}

// MinuteSamples returns measures of the last minutes, at most 360, oldest first, summed over all regions or, with a
// region, of that one; at most 20,000. Errors: those of ReadOps.
func (s *Store) MinuteSamples(ctx context.Context, region string, minutes int,
	measures ...string) ([]MinuteSample, error) {
	rows, err := readSums(ctx, s, func(q *query.Queries, ctx context.Context) ([]query.MinuteSamplesRow, error) {
		return q.MinuteSamples(ctx, query.MinuteSamplesParams{Region: region, Minutes: sampleAge(minutes),
			Measures: measures})
	})
	return convertRows(rows, func(r query.MinuteSamplesRow) MinuteSample { return MinuteSample(r) }), err
}

// maxSampleMinutes bounds how far back samples and requests are read.
const maxSampleMinutes = 360

// sampleAge returns the greatest age of the samples of the last minutes: two minutes more than so many, since the
// present minute and the oldest one are there in part only.
func sampleAge(minutes int) time.Duration {
	return time.Duration(min(minutes, maxSampleMinutes)+2) * time.Minute
}

// EventsUntil returns the cursor before the events of a time and later ones, from which opsview.ReadEvents reads back
// the events until then. An event has the time at which its transaction began, so that the place of the cursor may be
// off by the length of a transaction. Errors: those of ReadOps.
func (s *Store) EventsUntil(ctx context.Context, until time.Time) (opsview.EventCursor, error) {
	last, err := readSums(ctx, s, func(q *query.Queries, ctx context.Context) (uint64, error) {
		return q.EventsUntil(ctx, until)
	})
	return opsview.EventCursor{Tx: last, ID: uuid.Nil}, err
}

// readSums runs a statement of queries/ops_sums.sql. The parameters of read have the order of a method expression.
func readSums[T any](ctx context.Context, s *Store,
	read func(*query.Queries, context.Context) (T, error)) (found T, err error) {
	err = s.readOps(ctx, func(ctx context.Context, t *tx.Tx) (err error) {
		found, err = read(query.New(t), ctx)
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
