package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
)

// Registration is what an instance says of itself. A register replaces all of it.
type Registration struct {
	InstanceID   string
	Endpoint     string
	Region       string
	Modes        []string
	Capacity     int      // player seats
	Load         *float64 // any measure that grows, best the share in use; nil means 0
	Labels       map[string]string
	MaxSessions  *int // nil means as many as the capacity holds
	Version      string
	BootID       string // of the process; empty means a legacy server, identified by its id alone
	CertDigest   string
	ReportsSeats bool
	// Replaces is the incarnation that the sender takes for the current one of this id, and whose place it wants; uuid.Nil
	// when it takes the id for new. Nil asks for no check, as legacy servers do.
	Replaces *uuid.UUID
}

// Registered is the answer to a registration.
type Registered struct {
	InstanceID  string
	Incarnation uuid.UUID // echoed on later calls, it fences an evicted process that wakes up again
	Available   int       // seats that open sessions do not take
}

// InstanceRef names the calling instance. A nil Incarnation is a legacy server, identified by its id alone.
type InstanceRef struct {
	InstanceID  string
	Incarnation *uuid.UUID
}

// Register makes an instance known, or a known one anew. The same boot on the same endpoint and region with a live
// lease keeps its incarnation and its sessions; anything else starts a new incarnation, and the old one's sessions
// close. Errors: Superseded or Conflict when Replaces is not the current incarnation, Unavailable.
func (s *Store) Register(ctx context.Context, r Registration) (Registered, error) {
	var out Registered
	err := s.inTx(ctx, func(q *Queries) error {
		incarnation, err := q.settleIncarnation(ctx, r)
		if err != nil {
			return err
		}
		if err := q.putRegistration(ctx, r, incarnation); err != nil {
			return err
		}
		available, err := q.Available(ctx, AvailableParams{Region: r.Region, ID: r.InstanceID})
		out = Registered{InstanceID: r.InstanceID, Incarnation: incarnation, Available: int(available)}
		return err
	})
	if err == nil {
		s.Notify(TopicCapacity, "")
	}
	return out, classify(err)
}

// settleIncarnation decides whether the registration continues an incarnation, and ends the previous one if not.
func (q *Queries) settleIncarnation(ctx context.Context, r Registration) (uuid.UUID, error) {
	fresh := uuid.New()
	known, err := q.ClaimInstanceID(ctx, ClaimInstanceIDParams{InstanceID: r.InstanceID, Region: r.Region, Incarnation: fresh})
	if err != nil || known.IsNew {
		return fresh, err
	}
	old, err := q.LockInstance(ctx, LockInstanceParams{Region: known.Region, ID: r.InstanceID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fresh, q.pointDirectory(ctx, r, fresh)
	case err != nil:
		return fresh, err
	}
	same := known.Region == r.Region && continues(old, r)
	if err := fence(r, known.Incarnation, ownBoot(old, r), same); err != nil {
		return fresh, err
	}
	switch {
	case same:
		return old.Incarnation, nil
	case old.Status != "gone":
		if err := q.endInstance(ctx, known.Region, r.InstanceID, "superseded"); err != nil {
			return fresh, err
		}
	}
	return fresh, q.pointDirectory(ctx, r, fresh)
}

func (q *Queries) pointDirectory(ctx context.Context, r Registration, incarnation uuid.UUID) error {
	return q.PointDirectory(ctx, PointDirectoryParams{InstanceID: r.InstanceID, Region: r.Region, Incarnation: incarnation})
}

func continues(old LockInstanceRow, r Registration) bool {
	return old.Status != "gone" && old.Alive && (r.BootID == "" || ownBoot(old, r)) && old.Endpoint == r.Endpoint
}

func ownBoot(old LockInstanceRow, r Registration) bool {
	return r.BootID != "" && old.BootID != nil && *old.BootID == r.BootID
}

// fence refuses a registration that was overtaken on its way by another one. One of the same process (own) that changes no
// incarnation (same) may be the retry of a registration whose answer was lost, and does no harm. Where the current
// incarnation is the process's own, or the process has never been registered, the refusal is not the end for it: it may
// register again, in the place of the current incarnation.
func fence(r Registration, current uuid.UUID, own, same bool) error {
	switch {
	case r.Replaces == nil || *r.Replaces == current || own && same:
		return nil
	case own || *r.Replaces == uuid.Nil:
		err := newError(Conflict, "instance_taken", "instance %q is registered already: to take its place, name its incarnation in replaces", r.InstanceID)
		err.Incarnation = current.String()
		return err
	}
	return superseded(InstanceRef{InstanceID: r.InstanceID})
}

func (q *Queries) putRegistration(ctx context.Context, r Registration, incarnation uuid.UUID) error {
	load := 0.0
	if r.Load != nil {
		load = *r.Load
	}
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	if err := q.PutInstance(ctx, PutInstanceParams{
		Region: r.Region, ID: r.InstanceID, Incarnation: incarnation, BootID: orNull(r.BootID), Endpoint: r.Endpoint,
		Modes: r.Modes, Labels: r.Labels, Version: orNull(r.Version), CertDigest: orNull(r.CertDigest),
		Capacity: int32(r.Capacity), MaxSessions: toInt32(r.MaxSessions), ReportsSeats: r.ReportsSeats,
	}); err != nil {
		return err
	}
	if err := q.PutLease(ctx, PutLeaseParams{Region: r.Region, InstanceID: r.InstanceID, Incarnation: incarnation, Load: load}); err != nil {
		return err
	}
	if err := q.PutModes(ctx, PutModesParams{Region: r.Region, InstanceID: r.InstanceID, Modes: r.Modes, Load: load}); err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]any{"endpoint": r.Endpoint, "incarnation": incarnation, "capacity": r.Capacity})
	if err != nil {
		return err
	}
	return q.LogInstance(ctx, LogInstanceParams{Region: r.Region, Kind: "instance.registered", InstanceID: &r.InstanceID, Detail: detail})
}

func (q *Queries) endInstance(ctx context.Context, region, id, reason string) error {
	_, err := q.EndInstance(ctx, EndInstanceParams{Region: region, ID: id, Reason: reason})
	return err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func toInt32(n *int) *int32 {
	if n == nil {
		return nil
	}
	v := int32(*n)
	return &v
}

type beat struct {
	ref  InstanceRef
	load *float64
}

// Heartbeat prolongs an instance's lease and answers the seats that open sessions do not take. Heartbeats that arrive
// together are one statement. Errors: NotFound when the instance is unknown or its lease is past (register again),
// Superseded, Unavailable.
func (s *Store) Heartbeat(ctx context.Context, ref InstanceRef, load *float64) (available int, err error) {
	return s.groups.heartbeats.Do(ctx, "", beat{ref, load})
}

func (s *Store) heartbeatBatch(ctx context.Context, _ string, calls []*batch.Call[beat, int]) error {
	// In the order of their ids, so that two replicas never deadlock. Of two heartbeats of one instance, the second stays for
	// the next batch.
	calls = slices.SortedStableFunc(slices.Values(calls), func(a, b *batch.Call[beat, int]) int { return cmp.Compare(a.Req.ref.InstanceID, b.Req.ref.InstanceID) })
	seen := make(map[string]bool, len(calls))
	var p HeartbeatsParams
	var decided, refused []*batch.Call[beat, int]
	for _, c := range calls {
		id := c.Req.ref.InstanceID
		switch {
		case c.Req.ref.isNobody():
			refused = append(refused, c)
		case !seen[id]:
			seen[id] = true
			p.add(c.Req)
			decided = append(decided, c)
		}
	}
	rows, err := s.q.Heartbeats(ctx, p)
	if err != nil {
		return err
	}
	available := make(map[string]int, len(rows))
	for _, r := range rows {
		available[r.ID] = int(r.Available)
	}
	for _, c := range decided {
		if n, ok := available[c.Req.ref.InstanceID]; ok {
			c.Answer(n, nil)
		} else {
			refused = append(refused, c)
		}
	}
	return s.refuseHeartbeats(ctx, refused)
}

// isNobody reports whether the caller sent the nil incarnation, which no instance ever got. In the statement of heartbeats
// it means a legacy server.
func (r InstanceRef) isNobody() bool { return r.Incarnation != nil && *r.Incarnation == uuid.Nil }

// refuseHeartbeats answers heartbeats that were refused with the reason.
func (s *Store) refuseHeartbeats(ctx context.Context, calls []*batch.Call[beat, int]) error {
	refs := make([]InstanceRef, len(calls))
	for i, c := range calls {
		refs[i] = c.Req.ref
	}
	known, err := s.q.findInstances(ctx, refs...)
	if err != nil {
		return err
	}
	for _, c := range calls {
		_, err := known.live(c.Req.ref)
		if err == nil {
			// It lives now: a registration came in between. The next beat will be heard.
			err = unavailable("the instance was just being registered", nil)
		}
		c.Answer(0, err)
	}
	return nil
}

func (p *HeartbeatsParams) add(b beat) {
	load, incarnation := math.NaN(), uuid.Nil
	if b.load != nil {
		load = *b.load
	}
	if b.ref.Incarnation != nil {
		incarnation = *b.ref.Incarnation
	}
	p.InstanceIds = append(p.InstanceIds, b.ref.InstanceID)
	p.Loads = append(p.Loads, load)
	p.Incarnations = append(p.Incarnations, incarnation)
}

// directory is what is known of instances, by id.
type directory map[string]FindInstancesRow

// findInstances looks all of them up at once, and asks nothing when there are none.
func (q *Queries) findInstances(ctx context.Context, refs ...InstanceRef) (directory, error) {
	if len(refs) == 0 {
		return directory{}, nil
	}
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.InstanceID
	}
	rows, err := q.FindInstances(ctx, ids)
	known := make(directory, len(rows))
	for _, r := range rows {
		known[r.InstanceID] = r
	}
	return known, err
}

// live gives the region of a live instance that this incarnation may speak for. Errors: NotFound, Superseded.
func (d directory) live(ref InstanceRef) (region string, err error) {
	known, ok := d[ref.InstanceID]
	switch {
	case !ok:
		return "", instanceUnknown(ref)
	case ref.Incarnation != nil && *ref.Incarnation != known.Incarnation:
		return "", superseded(ref)
	case !known.Alive:
		return "", instanceUnknown(ref)
	}
	return known.Region, nil
}

func instanceUnknown(ref InstanceRef) error {
	return newError(NotFound, "instance_unknown", "instance %q is unknown or its lease is past: register again", ref.InstanceID)
}

func superseded(ref InstanceRef) error {
	return newError(Superseded, "superseded", "a newer incarnation of instance %q is registered: stop, do not register again", ref.InstanceID)
}

// onLive runs fn on a live instance while its row is held.
func (s *Store) onLive(ctx context.Context, ref InstanceRef, fn func(q *Queries, region string) error) error {
	return classify(s.inTx(ctx, func(q *Queries) error {
		known, err := q.findInstances(ctx, ref)
		if err != nil {
			return err
		}
		region, err := known.live(ref)
		if err != nil {
			return err
		}
		held, err := q.LockInstance(ctx, LockInstanceParams{Region: region, ID: ref.InstanceID})
		switch {
		case errors.Is(err, pgx.ErrNoRows) || (err == nil && held.Status == "gone"):
			return instanceUnknown(ref)
		case err != nil:
			return err
		case ref.Incarnation != nil && *ref.Incarnation != held.Incarnation:
			return superseded(ref)
		}
		return fn(q, region)
	}))
}

// Deregister ends an instance: no placement any more, its sessions close. Errors: NotFound, Superseded, Unavailable.
func (s *Store) Deregister(ctx context.Context, ref InstanceRef) error {
	return s.onLive(ctx, ref, func(q *Queries, region string) error {
		return q.endInstance(ctx, region, ref.InstanceID, "deregistered")
	})
}

// SetDrain keeps new players from an instance, or lets them in again; its sessions go on. It answers the seats that
// open sessions do not take. Errors: NotFound, Superseded, Unavailable.
func (s *Store) SetDrain(ctx context.Context, ref InstanceRef, drain bool) (available int, err error) {
	err = s.onLive(ctx, ref, func(q *Queries, region string) error {
		changed, err := q.SetDrain(ctx, SetDrainParams{Region: region, ID: ref.InstanceID, Drain: drain})
		if err != nil {
			return err
		}
		if changed {
			if err := q.RefreshShares(ctx, RefreshSharesParams{Region: region, InstanceIds: []string{ref.InstanceID}}); err != nil {
				return err
			}
		}
		n, err := q.Available(ctx, AvailableParams{Region: region, ID: ref.InstanceID})
		available = int(n)
		return err
	})
	return available, err
}

// Regions lists the regions that instances were registered in. Errors: Unavailable.
func (s *Store) Regions(ctx context.Context) ([]string, error) {
	regions, err := s.q.Regions(ctx)
	return regions, classify(err)
}
