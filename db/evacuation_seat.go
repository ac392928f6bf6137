package db

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// evacuatedWait is how long a party that finds no seat counts as waiting for a server, so that pools start some.
const evacuatedWait = time.Minute

// seatEvacuated seats parties that have no ticket: they had got their seats by POST /matchmake, and get others by its
// rules, in the region that the evacuation names or in which they were. A party that has a seat keeps it, so that a
// step whose outcome is unknown may be repeated.
func (s *Store) seatEvacuated(ctx context.Context, id uuid.UUID) (step EvacuationStep, err error) {
	var evacuation query.HoldEvacuationRow
	var parties []query.EvacuatedPartiesRow
	err = s.inEvacuation(ctx, id, func(q *query.Queries, e query.HoldEvacuationRow) (err error) {
		step, evacuation = EvacuationStep{}, e
		if e.Target == "region" && e.SeatsIn == "" {
			left, err := q.LeaveEvacuated(ctx, query.LeaveEvacuatedParams{Evacuation: id, Why: WhyNoRegion})
			step.StrandedPlayers = int(left)
			return err
		}
		parties, err = q.EvacuatedParties(ctx, query.EvacuatedPartiesParams{Evacuation: id, Batch: evacuatedParties})
		return err
	})
	if err != nil || len(parties) == 0 {
		return step, err
	}
	seating := seating{store: s, seatsIn: evacuation.SeatsIn}
	// The evacuation is not held meanwhile, since Place waits for locks of its own. If another worker places the same
	// party, the second one finds the seats that the first one has given.
	if err := seating.place(ctx, parties); err != nil {
		return step, err
	}
	err = s.inEvacuation(ctx, id, func(q *query.Queries, _ query.HoldEvacuationRow) error {
		_, err := q.DecideEvacuated(ctx, seating.decisions)
		return err
	})
	return seating.evacuationStep, err
}

// seating seats parties elsewhere.
type seating struct {
	store        *Store
	seatsIn      string                                 // "": where they were
	currentSeats map[string][]query.SeatsOfEvacuatedRow // that players have by now

	mu             sync.Mutex
	placeError     error
	evacuationStep EvacuationStep
	decisions      query.DecideEvacuatedParams
}

// place places the parties together: they share transactions. Errors: Unavailable, after which some are placed.
func (p *seating) place(ctx context.Context, parties []query.EvacuatedPartiesRow) error {
	if err := p.readSeats(ctx, parties); err != nil {
		return err
	}
	var calls sync.WaitGroup
	for _, party := range parties {
		calls.Go(func() { p.placeOne(ctx, party) })
	}
	calls.Wait()
	return p.placeError
}

// readSeats reads which seats the players have by now, where they would get one.
func (p *seating) readSeats(ctx context.Context, parties []query.EvacuatedPartiesRow) error {
	subs := map[string][]string{}
	for _, party := range parties {
		// Where they get a seat, which may be another region than that of the session they had.
		region := p.regionOf(party)
		subs[region] = append(subs[region], party.Subs...)
	}
	p.currentSeats = map[string][]query.SeatsOfEvacuatedRow{}
	for region, all := range subs {
		rows, err := p.store.q.SeatsOfEvacuated(ctx, query.SeatsOfEvacuatedParams{Region: region, Subs: all})
		if err != nil {
			return err
		}
		for _, r := range rows {
			p.currentSeats[r.Sub] = append(p.currentSeats[r.Sub], r)
		}
	}
	return nil
}

func (p *seating) regionOf(party query.EvacuatedPartiesRow) string {
	return cmp.Or(p.seatsIn, party.Region)
}

func (p *seating) placeOne(ctx context.Context, party query.EvacuatedPartiesRow) {
	region, subs := p.regionOf(party), p.withoutSeated(party)
	if len(subs) == 0 {
		return
	}
	// The player who had asked for the seats of all, unless that one is seated already.
	caller := party.ReservedBy
	if !slices.Contains(subs, caller) {
		caller = subs[0]
	}
	// They were in before their server was lost: a valve that holds others up does not count for them, as in the queue.
	placement, err := p.store.placeAdmitted(ctx, PlaceRequest{Caller: caller, Region: region, Mode: party.Mode, Party: subs,
		MaxPlayers: int(party.MaxPlayers), WaitFor: evacuatedWait})
	switch {
	case err == nil:
		_, session, _ := parseSessionID(placement.SessionID)
		p.decide(party, region, session, "", subs...)
	case fault.Is(err, fault.Unavailable):
		// The outcome is not known, so nothing is decided: the party comes up again in the next step.
		p.fail(err)
	case fault.Is(err, fault.Conflict):
		p.decide(party, "", uuid.Nil, WhyPartyConflict, subs...)
	case fault.Is(err, fault.NoCapacity):
		p.decide(party, "", uuid.Nil, WhyNoCapacity, subs...)
	// The region has moved to another cell since its players were released.
	case fault.Is(err, fault.Elsewhere):
		p.decide(party, "", uuid.Nil, WhyNoRegion, subs...)
	default:
		p.decide(party, "", uuid.Nil, WhyRefused, subs...)
	}
}

// withoutSeated returns the players of a party who have no seat of its mode, and decides about the others.
func (p *seating) withoutSeated(party query.EvacuatedPartiesRow) (subs []string) {
	for _, sub := range party.Subs {
		i := slices.IndexFunc(p.currentSeats[sub],
			func(r query.SeatsOfEvacuatedRow) bool { return r.Mode == party.Mode })
		if i < 0 {
			subs = append(subs, sub)
			continue
		}
		p.decide(party, p.regionOf(party), p.currentSeats[sub][i].SessionID, WhySeatedAlready, sub)
	}
	return subs
}

func (p *seating) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.placeError == nil {
		p.placeError = err
	}
}

// decide notes the next session of players, uuid.Nil for none.
func (p *seating) decide(party query.EvacuatedPartiesRow, region string, session uuid.UUID, why string,
	subs ...string) {
	// Parties are placed at the same time.
	p.mu.Lock()
	defer p.mu.Unlock()
	state := "seated"
	if session == uuid.Nil {
		state = "left"
		p.evacuationStep.StrandedPlayers += len(subs)
	} else {
		p.evacuationStep.SeatedPlayers += len(subs)
	}
	d := &p.decisions
	for _, sub := range subs {
		d.Regions = append(d.Regions, party.Region)
		d.Sessions = append(d.Sessions, party.SessionID)
		d.Subs = append(d.Subs, sub)
		d.States = append(d.States, state)
		d.Why = append(d.Why, why)
		d.Tickets = append(d.Tickets, "")
		d.NextRegions = append(d.NextRegions, region)
		d.NextSessions = append(d.NextSessions, session)
	}
}
