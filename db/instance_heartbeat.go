package db

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

type heartbeat struct {
	instanceRef InstanceRef
	load        *float64
}

type heartbeatCall = batch.Call[heartbeat, Alive]

// Alive is the answer to a heartbeat.
type Alive struct {
	Available int       // seats of its capacity that no open session has reserved
	Deployed  *Deployed // nil for an instance that belongs to no deployment
}

// Heartbeat renews the lease of an instance. Heartbeats that wait at the same time share one statement. load is as in
// Registration; nil keeps the last one. Errors: NotFound when the instance is unknown or its lease has expired
// (register again), Superseded, Elsewhere, Unavailable.
func (s *Store) Heartbeat(ctx context.Context, ref InstanceRef, load *float64) (Alive, error) {
	return s.batchGroups.heartbeats.Do(ctx, "", heartbeat{ref, load})
}

func (s *Store) heartbeatBatch(ctx context.Context, _ string, calls []*heartbeatCall) error {
	// In the order of their ids, so that two replicas never deadlock. Of two heartbeats of one instance, the second
	// stays for the next batch.
	calls = slices.SortedStableFunc(slices.Values(calls),
		func(a, b *heartbeatCall) int {
			return cmp.Compare(a.Req.instanceRef.InstanceID, b.Req.instanceRef.InstanceID)
		})
	seen := make(map[string]bool, len(calls))
	var p query.HeartbeatsParams
	var decided, refused []*heartbeatCall
	for _, c := range calls {
		id := c.Req.instanceRef.InstanceID
		switch {
		case c.Req.instanceRef.isNil():
			refused = append(refused, c)
		case !seen[id]:
			seen[id] = true
			addHeartbeat(&p, c.Req)
			decided = append(decided, c)
		}
	}
	rows, err := s.q.Heartbeats(ctx, p)
	if err != nil {
		return err
	}
	// The lease of an instance is renewed although another cell serves its region: its players stay until it has
	// registered there.
	alive, sentAway := make(map[string]Alive, len(rows)), map[string]error{}
	for _, r := range rows {
		alive[r.ID] = aliveOf(r)
		if err := s.CheckHere(r.Region); err != nil {
			sentAway[r.ID] = err
		}
	}
	for _, c := range decided {
		if a, ok := alive[c.Req.instanceRef.InstanceID]; ok {
			c.Answer(a, sentAway[c.Req.instanceRef.InstanceID])
		} else {
			refused = append(refused, c)
		}
	}
	return s.refuseHeartbeats(ctx, refused)
}

func aliveOf(r query.HeartbeatsRow) Alive {
	a := Alive{Available: int(r.Available)}
	if r.Deployed {
		a.Deployed = &Deployed{IsReady: r.Status != "starting", Endpoint: r.Endpoint, EndsAt: r.EndsAt,
			IsEnding: r.Ending}
	}
	return a
}

// isNil reports whether the caller sent the nil incarnation, which no instance has. The statement Heartbeats must not
// get it from a caller: there it means a legacy server.
func (r InstanceRef) isNil() bool { return r.Incarnation != nil && *r.Incarnation == uuid.Nil }

// refuseHeartbeats answers refused heartbeats with the reason.
func (s *Store) refuseHeartbeats(ctx context.Context, calls []*heartbeatCall) error {
	refs := make([]InstanceRef, len(calls))
	for i, c := range calls {
		refs[i] = c.Req.instanceRef
	}
	known, err := findInstances(ctx, s.q, refs...)
	if err != nil {
		return err
	}
	for _, c := range calls {
		_, err := s.liveRegion(known, c.Req.instanceRef)
		if err == nil {
			// A registration has committed since the heartbeat was refused: the next heartbeat succeeds.
			err = fault.NewUnavailable("the instance was being registered", nil)
		}
		c.Answer(Alive{}, err)
	}
	return nil
}

func addHeartbeat(p *query.HeartbeatsParams, h heartbeat) {
	load, incarnation := math.NaN(), uuid.Nil
	if h.load != nil {
		load = *h.load
	}
	if h.instanceRef.Incarnation != nil {
		incarnation = *h.instanceRef.Incarnation
	}
	p.InstanceIds = append(p.InstanceIds, h.instanceRef.InstanceID)
	p.Loads = append(p.Loads, load)
	p.Incarnations = append(p.Incarnations, incarnation)
}

func (h heartbeat) bytes() int { return textBytes(h.instanceRef.InstanceID) }
