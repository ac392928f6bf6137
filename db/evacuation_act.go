package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/query"
)

// EvacuationTarget names what is evacuated.
type EvacuationTarget struct {
	Name   string // a region, the host of endpoints, or a label as key=value
	Kind   string // region, host or label; "": which of them Name is
	Region string // of a host or label; "": all regions
	// LostWithin adds players who lost their game server before the evacuation, at most so long ago; 0: none.
	LostWithin time.Duration
}

// NewEvacuation is an evacuation that is to begin.
type NewEvacuation struct {
	Target  EvacuationTarget
	Requeue bool // players wait again, or get seats elsewhere
	Dead    bool // game servers that still report end as well
	// SeatsIn is the region in which players without a ticket get seats; "": where they had them, nowhere if that goes.
	SeatsIn string
}

// EvacuationPreview is what an evacuation would concern.
type EvacuationPreview struct {
	Kind     string `json:"kind"`
	Value    string `json:"value"`
	Servers  int64  `json:"servers"`
	Alive    int64  `json:"alive"` // of the servers, those that report
	Sessions int64  `json:"sessions"`
	Players  int64  `json:"players"`
	Matched  int64  `json:"matched"` // of the players, those whom a profile matched
	Lost     int64  `json:"lost"`    // players who lost their game server before
}

// Evacuate drains the game servers of a region, of a host or with a label, and lets workers move their players. Errors:
// NotFound, for a name of no game server; Invalid; Conflict, while it is being evacuated; Unavailable.
func (a Act) Evacuate(ctx context.Context, n NewEvacuation) (id uuid.UUID, err error) {
	p := query.OpsEvacuateParams{Target: n.Target.Name, Kind: n.Target.Kind, Region: n.Target.Region,
		Requeue: n.Requeue, Dead: n.Dead, SeatsIn: n.SeatsIn, LostWithin: n.Target.LostWithin, Reason: a.reason}
	// A bulk transaction, since a region may have thousands of game servers.
	err = a.store.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		_, err := act.CallAs(ctx, q, a.actor, a.reason, func(q *query.Queries) (_ bool, err error) {
			id, err = q.OpsEvacuate(ctx, p)
			return true, err
		})
		return err
	})
	return id, act.Refusal(err)
}

// PreviewEvacuation counts what an evacuation would concern. Errors: as those of [Act.Evacuate].
func (s *Store) PreviewEvacuation(ctx context.Context, t EvacuationTarget) (EvacuationPreview, error) {
	r, err := s.q.PreviewEvacuation(ctx, query.PreviewEvacuationParams{Target: t.Name, Kind: t.Kind, Region: t.Region,
		LostWithin: t.LostWithin})
	return EvacuationPreview(r), act.Refusal(err)
}

// DrainRegion lets no new players onto the game servers of a region, nor onto those that register later. Errors:
// Invalid, Unavailable.
func (a Act) DrainRegion(ctx context.Context, region string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDrainRegion, region)
}

// UndrainRegion ends a drain that DrainRegion began. Errors: Invalid, Unavailable.
func (a Act) UndrainRegion(ctx context.Context, region string) (changed bool, err error) {
	return callMakingRoom(ctx, a, (*query.Queries).OpsUndrainRegion, region)
}
