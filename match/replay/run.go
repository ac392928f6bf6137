package replay

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/lattice-director/director/match/decide"
)

// Effort is how many steps of a search pass between two checks of the context. The director loop takes as many
// between two readings of the clock, and the last seeds of a sweep depend on the number.
const Effort = 16384

// Run runs a replay. Its memory grows with the tickets that wait at the same time, not with their total. Errors: the
// input cannot be replayed; those of Arrivals and Matches; ctx ended.
func Run(ctx context.Context, in Input) (*Report, error) {
	if err := in.checkBounds(); err != nil {
		return nil, err
	}
	r := &run{
		input: &in, engine: decide.New(in.Version, in.Seed), waitingByID: map[string]*waitingTicket{},
		servers:      newServers(in.Capacity),
		replayedSums: newSums(&in), recordedSums: newSums(&in), recordedSeeds: map[uint64]bool{},
		pastCosts: newPastTrades(in.Version.Profile), singleTickets: newSingles(in.Version.Profile, in.Begin),
	}
	var regions []decide.Region
	for _, name := range in.Regions {
		// With room at any time: shortages delay a match when it is made, not which one is found.
		regions = append(regions, decide.Region{Name: name, Room: true})
	}
	r.engine.SetRegions(regions)
	arrivals, stop := iter.Pull2(in.Arrivals)
	defer stop() // the replay may end before the arrivals
	r.nextArrival = arrivals
	if err := r.passTime(ctx); err != nil {
		return nil, err
	}
	return r.buildReport()
}

// passTime moves virtual time from event to event until the end.
func (r *run) passTime(ctx context.Context) error {
	if err := r.readArrival(); err != nil {
		return err
	}
	r.reportProgress(r.input.Begin)
	for ctx.Err() == nil {
		at, ok := r.nextMoment()
		if !ok {
			return r.countWaiting()
		}
		if err := r.handleMoment(at); err != nil {
			return err
		}
		r.reportProgress(at)
	}
	return ctx.Err()
}

// nextMoment returns the time of the next event; ok is false if none follows before the end.
func (r *run) nextMoment() (at time.Time, ok bool) {
	at = r.input.End // events at the end or after it do not count
	consider := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	if r.pendingArrival != nil {
		consider(r.pendingArrival.SeenAt)
	}
	consider(r.eventHeap.nextAt())
	consider(r.servers.nextChange())
	if t, ok := r.engine.Next(); ok {
		consider(t)
	}
	return at, at.Before(r.input.End)
}

// handleMoment handles all events of a moment. The engine first does the work that is due by then, as in the director
// loop.
func (r *run) handleMoment(at time.Time) error {
	// The engine does not know the changes of this moment yet, like a worker that is woken by its timer.
	if due, ok := r.engine.Next(); ok && !due.After(at) {
		r.runEngine(at)
	}
	mayMatch := false // a change may have made a match possible
	for len(r.eventHeap.queue) > 0 && !r.eventHeap.nextAt().After(at) {
		mayMatch = r.handleEvent(r.eventHeap.popEvent()) || mayMatch
	}
	for _, d := range r.servers.advanceTo(at) {
		r.countSeated(d.proposal, at)
	}
	for r.pendingArrival != nil && !r.pendingArrival.SeenAt.After(at) {
		mayMatch = true
		r.addArrival(*r.pendingArrival)
		if err := r.readArrival(); err != nil {
			return err
		}
	}
	if mayMatch {
		r.runEngine(at)
	}
	return nil
}

// readArrival reads the next arrival.
func (r *run) readArrival() error {
	a, err, ok := r.nextArrival()
	if err != nil {
		return err
	}
	r.pendingArrival = nil
	if ok {
		// Tickets that waited at the beginning are all seen then.
		a.SeenAt = laterTime(a.SeenAt, r.input.Begin)
		r.pendingArrival = &a
	}
	return nil
}

// addArrival adds a ticket to the queue and to the report, unless it is none of the profile's.
func (r *run) addArrival(a Arrival) {
	if ok, why := r.engine.Candidate(a.Ticket); !ok {
		// The profile's pool does not admit the ticket.
		if a.Recorded == nil && len(a.Ticket.Profiles) == 0 {
			return
		}
		// The ticket is counted all the same, and waits in vain until it leaves: engine.Add leaves it out.
		r.lackCounts.addLacks(why)
	}
	r.rememberOutcome(&a)
	r.replayedSums.countArrival(&a)
	r.singleTickets.addArrival(&a)
	w := &waitingTicket{queuedArrival: a}
	r.waitingByID[a.Ticket.ID] = w
	r.engine.Add(a.Ticket)
	// A ticket that declined in the history leaves in a ready check of the replay, unless the answers are drawn.
	if a.Why != Stayed && (a.Why != Declined || r.input.Accept.Drawn) {
		r.eventHeap.putEvent(event{happensAt: laterTime(a.LeftAt, a.LeftSeen), ticket: a.Ticket.ID, isLeaving: true})
	}
}

// handleEvent handles one event, and reports whether it may have made a match possible: tickets that return may match at
// once, and a ticket that leaves makes no match possible.
func (r *run) handleEvent(e event) (mayMatch bool) {
	if !e.isLeaving {
		r.engine.Return(e.returnedIDs...)
		return true
	}
	if w := r.waitingByID[e.ticket]; w != nil {
		r.removeTicket(w, w.queuedArrival.Why, e.happensAt)
	}
	return false
}

// removeTicket removes a ticket that leaves without a match.
func (r *run) removeTicket(w *waitingTicket, why Leaving, at time.Time) {
	delete(r.waitingByID, w.queuedArrival.Ticket.ID)
	r.engine.Remove(w.queuedArrival.Ticket.ID)
	r.replayedSums.countLeft(&w.queuedArrival, why, at)
	r.noteDifference(w, nil, at)
	r.singleTickets.recordPaid(w.queuedArrival.Ticket.ID, at, 0)
}

// runEngine lets the engine decide about everything that it has to.
func (r *run) runEngine(at time.Time) {
	for done := false; !done; {
		var found []decide.Proposal
		found, done = r.engine.Run(at, Effort)
		for _, f := range found {
			r.proposeMatch(f, at)
		}
	}
}

// proposeMatch asks the players of a match, and seats it or lets it wait for a server.
func (r *run) proposeMatch(found decide.Proposal, at time.Time) {
	p := &proposal{decision: found, proposedAt: at}
	for _, id := range found.Tickets {
		p.tickets = append(p.tickets, r.waitingByID[id])
	}
	if r.dropIfTicketsLeft(p) || r.input.Version.Profile.Accept > 0 && !r.askPlayers(p) {
		return
	}
	var regions []string
	for _, region := range found.Regions {
		regions = append(regions, region.Name)
	}
	for _, w := range p.tickets {
		delete(r.waitingByID, w.queuedArrival.Ticket.ID)
		r.engine.Remove(w.queuedArrival.Ticket.ID)
	}
	// Otherwise the match waits for the end of a shortage, and its tickets are out of the queue.
	if r.servers.hasRoom(regions) {
		r.countSeated(p, at)
		return
	}
	r.servers.waitingMatches = append(r.servers.waitingMatches, decidedMatch{p, regions})
}

// dropIfTicketsLeft drops a match of which a ticket had left already, and reports whether it did. The commit of such a
// match failed, so that the other tickets are candidates again when the worker learns of the leaving.
func (r *run) dropIfTicketsLeft(p *proposal) bool {
	var at time.Time
	var stay []string
	for _, w := range p.tickets {
		if w.queuedArrival.Why != Stayed && w.queuedArrival.Why != Declined &&
			!w.queuedArrival.LeftAt.After(p.proposedAt) {
			at = laterTime(at, w.queuedArrival.LeftSeen)
		} else {
			stay = append(stay, w.queuedArrival.Ticket.ID)
		}
	}
	// All tickets are still there.
	if at.IsZero() {
		return false
	}
	r.eventHeap.putEvent(event{happensAt: at, returnedIDs: stay})
	return true
}

// askPlayers asks the players of a match, and reports whether all accept. Otherwise the parties that decline leave at
// once, and the other tickets are candidates again when the ready check ends.
func (r *run) askPlayers(p *proposal) (areAllAccepting bool) {
	var stay []string
	var decline []*waitingTicket
	for _, w := range p.tickets {
		if r.input.Accept.acceptsMatch(w, r.input.Seed) {
			stay = append(stay, w.queuedArrival.Ticket.ID)
		} else {
			decline = append(decline, w)
		}
		w.readyChecks++
	}
	if len(decline) == 0 {
		return true
	}
	for _, w := range decline {
		r.removeTicket(w, Declined, p.proposedAt)
	}
	r.eventHeap.putEvent(event{happensAt: p.proposedAt.Add(r.input.Version.Profile.Accept), returnedIDs: stay})
	return false
}

// countSeated counts a match that has its server.
func (r *run) countSeated(p *proposal, at time.Time) {
	r.replayedSums.countMatch(matchOf(r.input.Version.Number, &p.decision))
	r.replayedSums.countBand(p, at)
	paid := r.replayedSums.tradeCosts.countMatch(p)
	for _, w := range p.tickets {
		r.singleTickets.recordPaid(w.queuedArrival.Ticket.ID, at, paid)
		r.replayedSums.countMatched(&w.queuedArrival, at)
		if w.queuedArrival.Recorded != nil && r.recordedInstant(w.queuedArrival.Recorded).Before(at) {
			r.censoredCount++
		}
	}
	r.compareMatch(p)
}

// countWaiting counts the tickets that wait at the end, and the recorded matches.
func (r *run) countWaiting() error {
	for _, d := range r.servers.waitingMatches {
		for _, w := range d.proposal.tickets {
			// Matches that still wait for a server count as waiting: their players have no seats.
			r.waitingByID[w.queuedArrival.Ticket.ID] = w
		}
	}
	for _, w := range r.waitingByID {
		r.replayedSums.countLeft(&w.queuedArrival, Stayed, r.input.End)
		r.singleTickets.recordPaid(w.queuedArrival.Ticket.ID, r.input.End, 0)
		r.noteDifference(w, nil, r.input.End)
		if w.queuedArrival.Recorded != nil && r.recordedInstant(w.queuedArrival.Recorded).Before(r.input.End) {
			r.censoredCount++
		}
	}
	if r.input.Matches == nil {
		return nil
	}
	for m, err := range r.input.Matches {
		if err != nil {
			return err
		}
		r.recordedSums.countMatch(m)
	}
	return nil
}

// reportProgress calls Progress, if a hundredth of the time has passed since the last call.
func (r *run) reportProgress(at time.Time) {
	if r.input.Progress != nil && at.Sub(r.progressAt) >= r.input.End.Sub(r.input.Begin)/100 {
		r.progressAt = at
		r.input.Progress(at)
	}
}

// buildReport returns the report of the finished replay.
func (r *run) buildReport() (*Report, error) {
	out := &Report{
		Schema: 1, Profile: r.input.Version.Profile.Name, Version: r.input.Version.Number, From: r.input.Begin.UTC(),
		To: r.input.End.UTC(), Seed: r.input.Seed,
		Replayed: r.replayedSums.finishSide(), Censored: r.censoredCount,
		Optimum: r.singleTickets.compareOptimum(r.input.End), NoCandidates: r.lackCounts.reasonSummary(),
		NotReproduced: slices.Clip(r.reportNotes()),
	}
	if r.input.Matches != nil {
		recorded := r.recordedSums.finishSide()
		// The sums have waiting alone, which would look cheaper than the replayed side.
		if r.pastCosts == nil {
			recorded.Trade = nil
		}
		out.Recorded = &recorded
		r.reproducedCounts.Owners = len(r.recordedSeeds)
		out.Reproduced = &r.reproducedCounts
	}
	return out, nil
}
