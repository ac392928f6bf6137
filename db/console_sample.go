package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// Sample is a measure of a minute, as ops.minute_samples shows it.
type Sample struct {
	Minute  time.Time
	Measure string
	Subject string // what it is a measure of: a state, a profile; "": there is one
	Value   float64
}

// ConsoleSamples returns measures of the last hour, oldest first, summed over all regions or, with a region, of that one; at most 20,000. Errors:
// TooMany, Unavailable.
func (s *Store) ConsoleSamples(ctx context.Context, region string, measures ...string) (samples []Sample, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleSamples(ctx, query.ConsoleSamplesParams{Region: region, Measures: measures})
		for _, r := range rows {
			samples = append(samples, Sample(r))
		}
		return err
	})
	return samples, err
}
