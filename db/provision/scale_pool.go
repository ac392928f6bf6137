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
	surplusSettles = 30 * time.Second // for how long a pool has too many servers before one of them ends
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

// PlanPools plans the pools of a region that were not planned within the duration every, which is positive, and carries
// the plans out: it inserts deployments, drains servers that a pool has too many, and ends empty ones that drain.
// Several workers may call it: each pool is planned by one of them. After an error, done is what had been done before.
// Errors: those of seal, Unavailable.
func (s *Store) PlanPools(ctx context.Context, region string, every time.Duration,
	seal SealKey) (done Scaled, err error) {
	began := time.Now()
	for {
		one, err := s.planDuePool(ctx, region, every, seal)
		if err != nil || one.PlannedPools == 0 {
			return done, frame.Classify(err)
		}
		done.PlannedPools += one.PlannedPools
		done.StartedServers += one.StartedServers
		done.EndedServers += one.EndedServers
		// The first of these pools are due again, and the caller has other regions.
		if time.Since(began) > every {
			return done, nil
		}
	}
}

// planDuePool plans one pool that is due, if there is any.
func (s *Store) planDuePool(ctx context.Context, region string, every time.Duration,
	seal SealKey) (done Scaled, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// Set anew for each attempt of the transaction.
		done = Scaled{}
		pool, err := q.ClaimPool(ctx, query.ClaimPoolParams{Region: region, Every: every})
		// No pool is due that no other worker plans.
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
	// For the loops that call the providers, of all workers.
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
	if plan.Start > 0 && t.appVersion.Provider != providerManual {
		allowed, err := lockAllowedStarts(ctx, t.q)
		if err != nil {
			return err
		}
		plan.cutStarts(allowed)
	}
	encodedPlan, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	// Returns whether the surplus has lasted for surplusSettles.
	settled, err := t.q.RecordPlan(ctx, query.RecordPlanParams{
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Plan: encodedPlan, Surplus: plan.End > 0,
		Settle: surplusSettles, Used: int32(plan.Used), StartTime: state.startTime,
		KeepStartTime: plan.Coming > 0 || state.isPreparing,
	})
	if err != nil {
		return err
	}
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

// endDrained ends servers that drain and are empty, and returns how many, also while the pool starts servers or is
// paused: they take places of the pool and room at the provider.
func (t *scaling) endDrained(ctx context.Context, plan poolPlan) (int, error) {
	if plan.Draining == 0 {
		return 0, nil
	}
	drained, err := t.q.LockDrained(ctx, query.LockDrainedParams{
		// EmptyTtl, since a player may be on the way to a server that has just become empty.
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, EmptyTtl: t.poolRow.EmptyTtl,
		AtMost: maxDrained,
	})
	if err != nil {
		return 0, err
	}
	return t.stopDrained(ctx, drained, "drained")
}

// endSurplus ends servers that nobody needs, and returns how many. Unstarted ones go first: lost ones that are replaced,
// and coming ones beyond the target. Running ones end only when none is coming.
func (t *scaling) endSurplus(ctx context.Context, plan poolPlan, settled bool) (int, error) {
	ended, err := t.endUnstarted(ctx, plan)
	if err != nil || !settled || plan.End == 0 {
		return ended, err
	}
	running, err := t.endServers(ctx, min(plan.End, maxDrained))
	return ended + running, err
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
	s.liveServers, s.busyServers, s.coming = int(supply.Live), int(supply.Busy), int(supply.Coming)
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

// emptyServer returns an empty server of an app version, as package pack sees it.
func (v *AppVersion) emptyServer() pack.Host {
	h := pack.Host{Modes: v.Modes, Capacity: v.Capacity, FreeSlots: v.Capacity}
	if v.MaxSessions != nil {
		h.FreeSlots = *v.MaxSessions
	}
	return h
}

// waitingParties returns the parties of demand, in the same order. A match of a profile counts as a party that takes a
// whole session.
func waitingParties(demand []query.DemandOfPoolRow) (all []waitingParty) {
	type partyOfMode struct {
		mode string
		key  uuid.UUID
	}
	seen := map[partyOfMode]bool{}
	for _, d := range demand {
		p := partyOfMode{d.Mode, d.PartyKey}
		// Each player of a party may have asked for a seat, but the party needs one place. The nil UUID is of no party.
		if d.PartyKey != uuid.Nil && seen[p] {
			continue
		}
		seen[p] = true
		size := d.MaxPlayers // a match of a profile fills its session
		// Players who asked for seats share the session with others.
		if d.PartySize != nil {
			size = *d.PartySize
		}
		w := waitingParty{party: pack.Party{Shape: pack.Shape{Mode: d.Mode, MaxPlayers: int(d.MaxPlayers)},
			Size: int(size)}}
		w.playerAddress, _ = netip.ParseAddr(d.Address) // on an error it is not known
		// A row of a profile stands for so many matches, one of players for 1.
		for range min(int(d.Matches), maxPlanParties-len(all)) {
			all = append(all, w)
		}
	}
	return all
}

// readRoom reads the sessions and servers that have room for the waiting parties.
func (t *scaling) readRoom(ctx context.Context, s *poolState) error {
	needs := needsOf(s.waitingParties)
	sessions, err := t.q.RoomForDemand(ctx,
		query.RoomForDemandParams{Region: t.region, Modes: needs.Modes, MaxPlayers: needs.MaxPlayers, Sizes: needs.PartySizes,
			Parties: needs.PartyCounts})
	if err != nil {
		return err
	}
	for _, r := range sessions {
		s.openSessions = append(s.openSessions,
			pack.Session{Shape: pack.Shape{Mode: r.Mode, MaxPlayers: int(r.MaxPlayers)},
				ID: r.ID, PlayerCount: int(r.PlayerCount), HostIndex: pack.AlreadyOpen})
	}
	arg := query.HostsForDemandParams{Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Modes: needs.Modes,
		MaxPlayers: needs.MaxPlayers, Sessions: needs.SessionCounts()}
	for i, n := range arg.Sessions {
		// More servers than sessions are needed, as for placement: parties of other sizes may take the first ones.
		arg.Sessions[i] = min(n+pack.ExtraCandidates, maxPlanHosts)
	}
	hosts, err := t.q.HostsForDemand(ctx, arg)
	if err != nil {
		return err
	}
	for _, r := range hosts {
		h := pack.Host{ID: r.ID, Modes: r.Modes, Capacity: int(r.Capacity), ReservedSeats: int(r.ReservedSeats),
			FreeSlots: int(r.Capacity), Load: r.Load}
		if r.MaxSessions != nil {
			h.FreeSlots = int(*r.MaxSessions - r.OpenSessions)
		}
		s.packHosts = append(s.packHosts, h)
		s.isUnused = append(s.isUnused, r.Unused)
	}
	return nil
}

// needsOf counts parties by shape and size.
func needsOf(waiting []waitingParty) (needs pack.Needs) {
	for _, w := range waiting {
		needs.AddParties(w.party.Shape, w.party.Size, 1)
	}
	return needs
}

// startServers inserts deployments, one for each address in near, which may be the zero Addr.
func (t *scaling) startServers(ctx context.Context, near []netip.Addr, seal SealKey) error {
	all := make([]NewDeployment, len(near))
	for i, address := range near {
		n := NewDeployment{
			ID: value.NewID(), App: t.poolRow.App, Version: t.poolRow.Version, Provider: t.appVersion.Provider,
			Tag: provider.NewTag(), Address: address, Origin: OriginPool,
		}
		// A dialect needs a key for connect tokens, of which only the sealed form is stored.
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

// endUnstarted ends servers that nobody needs any more and that their provider has not started, and returns how many.
// Without it, servers that a provider without room refuses would stay coming, and so no empty server that takes this
// room would end.
func (t *scaling) endUnstarted(ctx context.Context, plan poolPlan) (int, error) {
	// A lost server counts as none that is coming, so that one that is coming is never ended in its place.
	lost, wanted := min(plan.Replaced, maxDrained), min(plan.Surplus, plan.Coming, maxDrained)
	if lost+wanted == 0 {
		return 0, nil
	}
	ended, err := t.q.StopUnstarted(ctx, query.StopUnstartedParams{
		Region: t.region, App: t.poolRow.App, Version: t.poolRow.Version, Reason: "surplus", Settle: surplusSettles,
		Wanted: int32(wanted), Lost: int32(lost),
	})
	return int(ended), err
}

// endServers drains and ends servers that are empty, at most n, and returns how many.
func (t *scaling) endServers(ctx context.Context, n int) (int, error) {
	// Drained in this transaction: from its commit on, no placement chooses them.
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
func (t *scaling) stopDrained(ctx context.Context, drained []uuid.UUID, reason string) (int, error) {
	if len(drained) == 0 {
		return 0, nil
	}
	ended, err := t.q.StopDeployments(ctx, query.StopDeploymentsParams{Region: t.region, Ids: drained, Reason: reason})
	return int(ended), err
}
