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

// seatEvacuated gives new seats to parties without a ticket, whose seats came from POST /matchmake: by its rules, in
// the region that the evacuation names, else in the region of the old seats. A player who has another seat by now keeps
// that, so that a step whose outcome is unknown may be repeated.
func (s *Store) seatEvacuated(ctx context.Context, id uuid.UUID) (step EvacuationStep, err error) {
	var evacuation query.HoldEvacuationRow
	var parties []query.EvacuatedPartiesRow
	err = s.inEvacuation(ctx, id, func(q *query.Queries, e query.HoldEvacuationRow) (err error) {
		step, evacuation = EvacuationStep{}, e
		// Without another region, the players of a region that is emptied get no seats.
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
	placement := evacuationPlacement{store: s, seatsIn: evacuation.SeatsIn}
	// The evacuation is not locked meanwhile, since placements wait for locks of their own. If two workers place the
	// same party, the second one finds the seats that the first one has given.
	if err := placement.placeAll(ctx, parties); err != nil {
		return step, err
	}
	err = s.inEvacuation(ctx, id, func(q *query.Queries, _ query.HoldEvacuationRow) error {
		_, err := q.DecideEvacuated(ctx, placement.decisions)
		return err
	})
	return placement.counted, err
}

// regionPlayer is a player in a region: the same player may have had seats in two regions that are evacuated together.
type regionPlayer struct{ region, sub string }

// evacuationPlacement places a page of evacuated parties, and collects what was decided about their players.
type evacuationPlacement struct {
	store        *Store
	seatsIn      string                                       // the region of the new seats; "": that of the old ones
	currentSeats map[regionPlayer][]query.SeatsOfEvacuatedRow // the seats that players have before they are placed

	mu         sync.Mutex // protects what follows: parties are placed at the same time
	placeError error      // the first one
	counted    EvacuationStep
	decisions  query.DecideEvacuatedParams
}

// placeAll places the parties at the same time, so that they share transactions. Errors: Unavailable, after which some
// are placed.
func (p *evacuationPlacement) placeAll(ctx context.Context, parties []query.EvacuatedPartiesRow) error {
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

// readSeats reads which seats the players already have in the regions in which they would get one.
func (p *evacuationPlacement) readSeats(ctx context.Context, parties []query.EvacuatedPartiesRow) error {
	subsByRegion := map[string][]string{}
	for _, party := range parties {
		region := p.newRegion(party)
		subsByRegion[region] = append(subsByRegion[region], party.Subs...)
	}
	p.currentSeats = map[regionPlayer][]query.SeatsOfEvacuatedRow{}
	for region, subs := range subsByRegion {
		rows, err := p.store.q.SeatsOfEvacuated(ctx, query.SeatsOfEvacuatedParams{Region: region, Subs: subs})
		if err != nil {
			return err
		}
		for _, r := range rows {
			player := regionPlayer{region, r.Sub}
			p.currentSeats[player] = append(p.currentSeats[player], r)
		}
	}
	return nil
}

// newRegion returns the region in which a party gets its seats.
func (p *evacuationPlacement) newRegion(party query.EvacuatedPartiesRow) string {
	return cmp.Or(p.seatsIn, party.Region)
}

// placeOne places the players of a party who have no seat yet, and adds a decision about each player of the party.
func (p *evacuationPlacement) placeOne(ctx context.Context, party query.EvacuatedPartiesRow) {
	region, subs := p.newRegion(party), p.decideSeated(party)
	if len(subs) == 0 {
		return
	}
	// The player who had asked for the seats of all, unless this player is seated already.
	caller := party.ReservedBy
	if !slices.Contains(subs, caller) {
		caller = subs[0]
	}
	// The players were admitted before their server was lost: as in the queue, a valve does not hold them up.
	placement, err := p.store.placeAdmitted(ctx, PlaceRequest{Caller: caller, Region: region, Mode: party.Mode,
		Party: subs, MaxPlayers: int(party.MaxPlayers), WaitFor: evacuatedWait})
	switch {
	case err == nil:
		_, session, _ := parseSessionID(placement.SessionID) // the placement has just made the id
		p.addSeated(party, subs, session, "")
	case fault.Is(err, fault.Unavailable):
		// The outcome is not known, so nothing is decided: the party comes up again in the next step.
		p.addError(err)
	case fault.Is(err, fault.Conflict):
		p.addStranded(party, subs, WhyPartyConflict)
	case fault.Is(err, fault.NoCapacity):
		p.addStranded(party, subs, WhyNoCapacity)
	case fault.Is(err, fault.Elsewhere):
		// The region has moved to another cell since its players were released.
		p.addStranded(party, subs, WhyNoRegion)
	default:
		p.addStranded(party, subs, WhyRefused)
	}
}

// decideSeated decides that players of a party who have a seat of its mode keep that, and returns the other players.
func (p *evacuationPlacement) decideSeated(party query.EvacuatedPartiesRow) (others []string) {
	for _, sub := range party.Subs {
		seats := p.currentSeats[regionPlayer{p.newRegion(party), sub}]
		i := slices.IndexFunc(seats, func(r query.SeatsOfEvacuatedRow) bool { return r.Mode == party.Mode })
		if i < 0 {
			others = append(others, sub)
			continue
		}
		p.addSeated(party, []string{sub}, seats[i].SessionID, WhySeatedAlready)
	}
	return others
}

func (p *evacuationPlacement) addError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.placeError == nil {
		p.placeError = err
	}
}

// addSeated adds the decision that players of a party have their next seats in a session.
func (p *evacuationPlacement) addSeated(party query.EvacuatedPartiesRow, subs []string, session uuid.UUID, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted.SeatedPlayers += len(subs)
	p.addDecisions(party, subs, "seated", why, p.newRegion(party), session)
}

// addStranded adds the decision that players of a party get no seats.
func (p *evacuationPlacement) addStranded(party query.EvacuatedPartiesRow, subs []string, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted.StrandedPlayers += len(subs)
	p.addDecisions(party, subs, "left", why, "", uuid.Nil)
}

// addDecisions adds a row for each player. The caller holds the mutex.
func (p *evacuationPlacement) addDecisions(party query.EvacuatedPartiesRow, subs []string, state, why, region string,
	session uuid.UUID) {
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
