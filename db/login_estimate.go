package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/estimate"
)

// Look returns what the estimates need to know of the line. Staff do not count, since they are admitted from a share of
// their own.
func (l *LoginLine) Look() estimate.Look {
	look := estimate.Look{
		SeenAt: l.row.ReadAt, Head: l.row.Head, NextPlace: l.row.NextPlace, Admitted: l.row.Admitted,
		Waiting:  int(l.row.Waiting - l.row.WaitingStaff),
		Position: func(place int64) int { return l.position(place, false) }, Positions: l.positions(),
	}
	if l.row.Mode == ValveLimited {
		look.Rate = l.row.Rate
	}
	return look
}

// positions returns the estimates that a worker has stored; the row has none if they are too old.
func (l *LoginLine) positions() estimate.Positions {
	return estimate.Positions{UpTo: l.row.EstimateUpto, P50: l.row.EstimateP50, P90: l.row.EstimateP90}
}

// SampledPlayer is a player of a sample of a line.
type SampledPlayer struct {
	Place    int64
	Player   string
	JoinedAt time.Time
}

// SampleLine returns the players who wait at places of a line, without staff. Errors: Unavailable.
func (s *Store) SampleLine(ctx context.Context, valve string, places []int64) ([]SampledPlayer, error) {
	rows, err := s.q.SampleLoginQueue(ctx, query.SampleLoginQueueParams{Valve: valve, Places: places})
	players := make([]SampledPlayer, 0, len(rows))
	for _, r := range rows {
		players = append(players, SampledPlayer{r.Place, r.Sub, r.JoinedAt})
	}
	return players, frame.Classify(err)
}

// AdmittedSample returns when players were admitted by a valve, without those who have left since. Errors:
// Unavailable.
func (s *Store) AdmittedSample(ctx context.Context, valve string, players []string) (map[string]time.Time, error) {
	rows, err := s.q.AdmittedSample(ctx, query.AdmittedSampleParams{Valve: valve, Subs: players})
	admitted := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		admitted[r.Sub] = r.AdmittedAt
	}
	return admitted, frame.Classify(err)
}

// LineEstimate is how long players of a line wait by their position, as a worker estimates it.
type LineEstimate struct {
	Worker    uuid.UUID
	Positions estimate.Positions
	// KeepsFormer keeps what is stored if Positions is empty and the stored estimates are still usable: a worker that
	// has just begun knows too little.
	KeepsFormer bool
	Calibration estimate.CalibrationCounts // since the previous call of PutLineEstimate
}

// PutLineEstimate replaces the estimates of a line. put is false where another worker has done so within ten seconds,
// or the line has no row in login_queue_marks. Errors: Unavailable.
func (s *Store) PutLineEstimate(ctx context.Context, valve string, e LineEstimate) (put bool, err error) {
	n, err := s.q.PutLineEstimate(ctx, query.PutLineEstimateParams{
		Valve: valve, Worker: e.Worker, Upto: notNil(e.Positions.UpTo), P50: notNil(e.Positions.P50),
		P90: notNil(e.Positions.P90), Keeps: e.KeepsFormer && len(e.Positions.UpTo) == 0,
		Waits:     int32(e.Calibration.WaitCount),
		BeforeP50: int32(e.Calibration.BeforeP50), BeforeP90: int32(e.Calibration.BeforeP90),
	})
	return n > 0, frame.Classify(err)
}

// notNil returns an empty list for nil, which would be NULL in SQL.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
