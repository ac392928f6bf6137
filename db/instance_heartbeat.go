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

// heartbeatBatch renews the leases of a batch in one statement. Of two heartbeats of one instance, it leaves the second
// for the next batch.
func (s *Store) heartbeatBatch(ctx context.Context, _ string, calls []*heartbeatCall) error {
	// All replicas lock leases in the order of the instances' ids, so that no two deadlock.
	calls = slices.SortedStableFunc(slices.Values(calls),
		func(a, b *heartbeatCall) int {
			return cmp.Compare(a.Req.instanceRef.InstanceID, b.Req.instanceRef.InstanceID)
		})
	seen := make(map[string]bool, len(calls))
	var params query.HeartbeatsParams
	var sent, refused []*heartbeatCall
	for _, c := range calls {
		id := c.Req.instanceRef.InstanceID
		switch {
		case c.Req.instanceRef.hasNilIncarnation():
			refused = append(refused, c)
		case !seen[id]:
			seen[id] = true
			addHeartbeat(&params, c.Req)
			sent = append(sent, c)
		}
	}
	rows, err := s.q.Heartbeats(ctx, params)
	if err != nil {
		return err
	}
	renewed := make(map[string]query.HeartbeatsRow, len(rows))
	for _, r := range rows {
		renewed[r.ID] = r
	}
	for _, c := range sent {
		r, ok := renewed[c.Req.instanceRef.InstanceID]
		if !ok {
			refused = append(refused, c)
			continue
		}
		// The lease is renewed even if another cell serves the region by now: the instance keeps its players until it
		// has registered there.
		c.Answer(aliveOf(r), s.CheckHere(r.Region))
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

// hasNilIncarnation reports whether the caller sent the nil UUID as its incarnation, which no instance has. In the
// statement Heartbeats, the nil UUID means a legacy server.
func (r InstanceRef) hasNilIncarnation() bool {
	return r.Incarnation != nil && *r.Incarnation == uuid.Nil
}

// refuseHeartbeats finds out why heartbeats were refused, and answers each with its reason.
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
		_, err := s.liveRegionHere(known, c.Req.instanceRef)
		if err == nil {
			// A registration has committed since the heartbeat was refused: the next heartbeat succeeds.
			err = fault.NewUnavailable("the instance was being registered", nil)
		}
		c.Answer(Alive{}, err)
	}
	return nil
}

func addHeartbeat(p *query.HeartbeatsParams, h heartbeat) {
	// How the statement says that the server sent no load, and that it is a legacy server.
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
