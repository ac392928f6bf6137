package provision

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

const (
	surplusSettles = 30 * time.Second // how long a pool has too many servers before one of them ends
	maxPlanParties = 20_000           // parties that a plan considers, the oldest
	maxPlanHosts   = 1000             // running servers that a plan considers, for each size of parties
	maxDrained     = 50               // servers that a plan ends
)

// ProvisionRegions returns the regions that have pools or deployments. Errors: Unavailable.
func (s *Store) ProvisionRegions(ctx context.Context) ([]string, error) {
	regions, err := s.frame.Queries.ProvisionRegions(ctx)
	return regions, frame.Classify(err)
}

// SealKey makes and seals the netcode key of a new deployment.
type SealKey func(region string, id uuid.UUID) (sealed []byte, by string, err error)

// Scaled counts what plans of pools did.
type Scaled struct{ PlannedPools, StartedServers, EndedServers int }

// ScalePools plans the pools of a region that were not planned within the duration every, which is positive, and
// carries the plans out: it inserts deployments, drains servers that a pool has too many, and ends empty ones that
// drain. Several workers may call it: each pool is planned by one of them. The first error ends it; what was done until
// then stays, and is returned. Errors: seal's, Unavailable.
func (s *Store) ScalePools(ctx context.Context, region string, every time.Duration,
	seal SealKey) (done Scaled, err error) {
	for began := time.Now(); ; {
		one, err := s.scalePool(ctx, region, every, seal)
		if err != nil || one.PlannedPools == 0 {
			return done, frame.Classify(err)
		}
		done.PlannedPools, done.StartedServers, done.EndedServers = done.PlannedPools+
			one.PlannedPools, done.StartedServers+one.StartedServers, done.EndedServers+
			one.EndedServers
		if time.Since(began) > every {
			return done, nil // the first of them are due again
		}
	}
}

func (s *Store) scalePool(ctx context.Context, region string, every time.Duration,
	seal SealKey) (done Scaled, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// Begun anew: a retried transaction has done nothing.
		done = Scaled{}
		pool, err := q.ClaimPool(ctx, query.ClaimPoolParams{Region: region, Every: every})
		// Another worker plans it, or has a moment ago.
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		done.PlannedPools = 1
		version, err := readAppVersion(ctx, q, pool.App, pool.Version)
		if err != nil {
			return err
		}
		t := scaling{q: q, region: region, poolRow: pool, appVersion: version}
		return t.run(ctx, seal, &done)
	})
	// Wakes the loop that calls the providers, of any worker.
	if err == nil && done.StartedServers+done.EndedServers > 0 {
		s.sendNotice(notify.TopicDeployments, region)
	}
	return done, err
}

// scaling is the transaction that plans a pool.
type scaling struct {
	q          *query.Queries
	region     string
	poolRow    query.ClaimPoolRow
	appVersion AppVersion
}

func (t *scaling) run(ctx context.Context, seal SealKey, done *Scaled) error {
	state, err := t.readState(ctx)
	if err != nil {
		return err
	}
	plan := planPool(state)
	// Servers of the provider manual are started by people, whom no limit concerns.
	if plan.Start > 0 && t.appVersion.Provider != providerManual {
		allowed, err := countAllowedStarts(ctx, t.q)
		if err != nil {
			return err
		}
		plan.cutStarts(allowed)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	// Recorded before anything is done: operators see the plan even where a limit keeps it from being carried out.
	settled, err := t.q.RecordPlan(ctx, query.RecordPlanParams{
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Plan: text, Surplus: plan.End > 0,
		Settle: surplusSettles, Used: int32(plan.Used), StartTime: state.startTime,
		KeepStartTime: plan.Coming > 0 || state.isPreparing,
	})
	if err != nil {
		return err
	}
	// Whatever the plan is: they take places of the pool, and perhaps room of the provider.
	if done.EndedServers, err = t.endDrained(ctx, plan); err != nil {
		return err
	}
	done.StartedServers = plan.Start
	// A pool that starts servers has no surplus.
	if plan.Start > 0 {
		return t.startServers(ctx, plan.nearPlayers, seal)
	}
	ended, err := t.endSurplus(ctx, plan, settled)
	done.EndedServers += ended
	return err
}

// endDrained ends servers that drain and are empty, which take places of the pool, and returns how many.
func (t *scaling) endDrained(ctx context.Context, plan poolPlan) (int, error) {
	// Without servers that drain, the statement would only look for rows to lock.
	if plan.Draining == 0 {
		return 0, nil
	}
	drained, err := t.q.LockDrained(ctx, query.LockDrainedParams{
		// Empty for as long as the pool says: a player may be on the way to a server that has just become empty.
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, EmptyTtl: t.poolRow.EmptyTtl,
		AtMost: maxDrained,
	})
	if err != nil {
		return 0, err
	}
	return t.stopDrained(ctx, drained, "drained")
}

// endSurplus ends servers that nobody needs, and returns how many.
func (t *scaling) endSurplus(ctx context.Context, plan poolPlan, settled bool) (int, error) {
	switch {
	// Those of which nothing was started go first: they cost nothing.
	case plan.Replaced > 0, plan.Surplus > 0 && plan.Coming > 0:
		return t.cancelWanted(ctx, min(plan.Surplus+plan.Replaced, maxDrained))
	// Only when the plan has asked for the same for a while: players come and go.
	case settled && plan.End > 0:
		return t.endServers(ctx, min(plan.End, maxDrained))
	default:
		return 0, nil
	}
}

// readState reads what the plan is made from.
func (t *scaling) readState(ctx context.Context) (poolState, error) {
	s := poolState{
		max: int(t.poolRow.MaxServers), bufferServers: int(t.poolRow.Buffer),
		bufferPercent: t.poolRow.BufferPercent,
		maxStarting:   int(t.poolRow.MaxStarting), isPaused: t.poolRow.Paused, emptyServer: t.appVersion.emptyServer(),
	}
	supply, err := t.q.SupplyOfPool(ctx,
		query.SupplyOfPoolParams{Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version})
	if err != nil {
		return s, err
	}
	s.readyServers, s.busyServers, s.coming = int(supply.Live), int(supply.Busy), int(supply.Coming)
	s.min, s.minCause, s.startTime = int(supply.MinServers), supply.MinCause, supply.StartTime
	s.isPreparing = supply.IsPreparing
	s.draining, s.ending, s.lostServers = int(supply.Draining), int(supply.Ending), int(supply.Lost)
	demand, err := t.q.DemandOfPool(ctx,
		query.DemandOfPoolParams{Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version,
			AtMost: maxPlanParties})
	// Without parties, only the numbers of servers matter, and no room is read.
	if err != nil || len(demand) == 0 {
		return s, err
	}
	s.waitingParties = waitingParties(demand)
	return s, t.readRoom(ctx, &s)
}

// emptyServer is a server of an app version as pack sees it.
func (v *AppVersion) emptyServer() pack.Host {
	h := pack.Host{Modes: v.Modes, Capacity: v.Capacity, FreeSlots: v.Capacity}
	if v.MaxSessions != nil {
		h.FreeSlots = *v.MaxSessions
	}
	return h
}

// waitingParties are the parties of demand, in its order. Matches of the loop need a whole session each. Several
// players may have asked for the same party.
func waitingParties(demand []query.DemandOfPoolRow) (all []waitingParty) {
	type same struct {
		mode string
		key  uuid.UUID
	}
	seen := map[same]bool{}
	for _, d := range demand {
		w := waitingParty{party: pack.Party{Shape: pack.Shape{Mode: d.Mode, MaxPlayers: int(d.MaxPlayers)},
			// A match takes a whole session, unless the row is of a party.
			Size: int(d.MaxPlayers)}}
		// The row is of a party of players who asked for a seat: they share the session with others.
		if d.Party != nil {
			w.party.Size = int(*d.Party)
		}
		w.playerAddress, _ = netip.ParseAddr(d.Address)
		// Each player of a party may have asked for it, but the party needs one place.
		if k := (same{d.Mode, d.PartyKey}); d.PartyKey != uuid.Nil {
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		for range min(int(d.Matches), maxPlanParties-len(all)) {
			all = append(all, w)
		}
	}
	return all
}

// readRoom reads the sessions and servers that have room for those who wait.
func (t *scaling) readRoom(ctx context.Context, s *poolState) error {
	k := keysOf(s.waitingParties)
	sessions, err := t.q.RoomForDemand(ctx,
		query.RoomForDemandParams{Region: t.region, Modes: k.Modes, MaxPlayers: k.MaxPlayers, Sizes: k.PartySizes,
			Parties: k.PartyCounts})
	if err != nil {
		return err
	}
	for _, r := range sessions {
		s.openSessions = append(s.openSessions,
			pack.Session{Shape: pack.Shape{Mode: r.Mode, MaxPlayers: int(r.MaxPlayers)},
				ID: r.ID, PlayerCount: int(r.PlayerCount), HostIndex: pack.AlreadyOpen})
	}
	arg := query.HostsForDemandParams{Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Modes: k.Modes,
		MaxPlayers: k.MaxPlayers, Sessions: k.SessionCounts()}
	for i, n := range arg.Sessions {
		// Some more than sessions are needed, as placement reads them: parties of other sizes may take the first of
		// them.
		arg.Sessions[i] = min(n+pack.ExtraCandidates, maxPlanHosts)
	}
	hosts, err := t.q.HostsForDemand(ctx, arg)
	for _, r := range hosts {
		h := pack.Host{ID: r.ID, Modes: r.Modes, Capacity: int(r.Capacity), ReservedSeats: int(r.ReservedSeats),
			FreeSlots: int(r.Capacity), Load: r.Load}
		if r.MaxSessions != nil {
			h.FreeSlots = int(*r.MaxSessions - r.OpenSessions)
		}
		s.packHosts = append(s.packHosts, h)
		s.isUnused = append(s.isUnused, r.Unused)
	}
	return err
}

// keysOf counts parties by shape and size.
func keysOf(waiting []waitingParty) (k pack.Needs) {
	for _, w := range waiting {
		k.AddParties(w.party.Shape, w.party.Size, 1)
	}
	return k
}

// startServers inserts deployments, one for each address.
func (t *scaling) startServers(ctx context.Context, near []netip.Addr, seal SealKey) error {
	all := make([]NewDeployment, len(near))
	for i, address := range near {
		n := NewDeployment{
			ID: value.NewID(), App: t.poolRow.App, Version: t.poolRow.Version, Provider: t.appVersion.Provider,
			Tag: provider.NewTag(), Address: address, Origin: OriginPool,
		}
		// The key of its connect tokens, of which only the sealed form is stored.
		if t.appVersion.Dialect != "" {
			var err error
			if n.SealedKey, n.SealedBy, err = seal(t.region, n.ID); err != nil {
				return err
			}
		}
		all[i] = n
	}
	return insertDeployments(ctx, t.q, t.region, all)
}

// cancelWanted ends servers that nobody needs any more and that their provider has not started, at most n, and returns how
// many. No server ends while others are coming, so that those which a provider without room refuses would keep the
// empty ones that take its room.
func (t *scaling) cancelWanted(ctx context.Context, n int) (int, error) {
	ended, err := t.q.StopUnstarted(ctx, query.StopUnstartedParams{
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Reason: "surplus", Settle: surplusSettles,
		AtMost: int32(n),
	})
	return int(ended), err
}

// endServers drains and ends servers that are empty, at most n, and returns how many.
func (t *scaling) endServers(ctx context.Context, n int) (int, error) {
	// Drained before they end, in this transaction: from here on, no placement chooses them.
	drained, err := t.q.DrainEmpty(ctx, query.DrainEmptyParams{
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, EmptyTtl: t.poolRow.EmptyTtl,
		AtMost: int32(n),
	})
	if err != nil {
		return 0, err
	}
	return t.stopDrained(ctx, drained, "surplus")
}

// stopDrained ends deployments whose instances take no players any more, and returns how many.
func (t *scaling) stopDrained(ctx context.Context, drained []*uuid.UUID, reason string) (int, error) {
	if len(drained) == 0 {
		return 0, nil
	}
	var ids []uuid.UUID
	for _, id := range drained {
		ids = append(ids, *id)
	}
	ended, err := t.q.StopDeployments(ctx, query.StopDeploymentsParams{Region: t.region, Ids: ids, Reason: reason})
	return int(ended), err
}
