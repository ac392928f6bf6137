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
		input: &in, engine: decide.New(in.Version, in.Seed), waitingByID: map[string]*waiting{},
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
	// Ends the reading of arrivals, also where the replay ends before they do.
	defer stop()
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
	// What happens at the end or after it does not count.
	at = r.input.End
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	if r.pendingArrival != nil {
		earlier(r.pendingArrival.SeenAt)
	}
	earlier(r.eventHeap.nextAt())
	earlier(r.servers.nextChange())
	if t, waits := r.engine.Next(); waits {
		earlier(t)
	}
	return at, at.Before(r.input.End)
}

// handleMoment handles all events of a moment. The engine first does the work that is due by then, as in the director
// loop.
func (r *run) handleMoment(at time.Time) error {
	// Before the changes of this moment are known to it, as a worker that wakes up by its timer.
	if due, ok := r.engine.Next(); ok && !due.After(at) {
		r.runEngine(at)
	}
	changed := false
	for len(r.eventHeap.queue) > 0 && !r.eventHeap.nextAt().After(at) {
		changed = r.handleEvent(r.eventHeap.popEvent()) || changed
	}
	for _, d := range r.servers.advanceTo(at) {
		r.countSeated(d.proposal, at)
	}
	for r.pendingArrival != nil && !r.pendingArrival.SeenAt.After(at) {
		changed = true
		r.addArrival(*r.pendingArrival)
		if err := r.readArrival(); err != nil {
			return err
		}
	}
	if changed {
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

func (r *run) addArrival(a Arrival) {
	if ok, why := r.engine.Candidate(a.Ticket); !ok {
		if a.Recorded == nil && len(a.Ticket.Profiles) == 0 {
			return // the profile's pool does not admit it
		}
		// It is counted all the same: it waits in vain until it leaves. The engine leaves it out.
		r.lackingCounts.addLacks(why)
	}
	r.rememberOutcome(&a)
	r.replayedSums.countArrival(&a)
	r.singleTickets.addArrival(&a)
	w := &waiting{queuedArrival: a}
	r.waitingByID[a.Ticket.ID] = w
	r.engine.Add(a.Ticket)
	// A ticket that declined in the history leaves in a ready check of the replay, unless the answers are drawn.
	if a.Why != Stayed && (a.Why != Declined || r.input.Accept.Drawn) {
		r.eventHeap.putEvent(event{happensAt: laterTime(a.LeftAt, a.LeftSeen), ticket: a.Ticket.ID, isLeaving: true})
	}
}

// handleEvent handles one event, and reports whether the engine has something to decide.
func (r *run) handleEvent(e event) bool {
	if !e.isLeaving {
		r.engine.Return(e.returnedIDs...)
		// Tickets that return may match at once.
		return true
	}
	if w := r.waitingByID[e.ticket]; w != nil {
		// Nothing to decide afterwards: a ticket that leaves makes no match possible.
		r.removeTicket(w, w.queuedArrival.Why, e.happensAt)
	}
	return false
}

func (r *run) removeTicket(w *waiting, why Leaving, at time.Time) {
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

// proposeMatch asks the players of a match, and finds it a server.
func (r *run) proposeMatch(found decide.Proposal, at time.Time) {
	p := &proposal{decision: found, proposedAt: at}
	for _, id := range found.Tickets {
		p.tickets = append(p.tickets, r.waitingByID[id])
	}
	if r.hasLostTickets(p) || r.input.Version.Profile.Accept > 0 && !r.askPlayers(p) {
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
	// Else it waits for the end of a shortage, out of the queue.
	if r.servers.hasRoom(regions) {
		r.countSeated(p, at)
		return
	}
	r.servers.waitingMatches = append(r.servers.waitingMatches, decided{p, regions})
}

// hasLostTickets drops a match of which a ticket had left already, when the worker learns of it: its commit failed, and
// the other tickets are candidates again.
func (r *run) hasLostTickets(p *proposal) bool {
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
	if at.IsZero() { // all are still there
		return false
	}
	r.eventHeap.putEvent(event{happensAt: at, returnedIDs: stay})
	return true
}

// askPlayers asks the players. A party that declines leaves when the ready check ends, and the others are candidates
// again.
func (r *run) askPlayers(p *proposal) bool {
	var stay []string
	var decline []*waiting
	for _, w := range p.tickets {
		if r.input.Accept.acceptsMatch(w, r.input.Seed) {
			stay = append(stay, w.queuedArrival.Ticket.ID)
		} else {
			decline = append(decline, w)
		}
		w.readyChecks++
	}
	// Everybody accepted: the match is made.
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

// countWaiting counts those that wait at the end.
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
		To:       r.input.End.UTC(),
		Seed:     r.input.Seed,
		Replayed: r.replayedSums.finishSide(), Censored: r.censoredCount,
		Optimum: r.singleTickets.compareOptimum(r.input.End), NoCandidates: r.lackingCounts.reasonSummary(),
		NotReproduced: slices.Clip(r.reportNotes()),
	}
	if r.input.Matches != nil {
		recorded := r.recordedSums.finishSide()
		// The sums would hold waiting alone, and look cheaper than the replayed side.
		if r.pastCosts == nil {
			recorded.Trade = nil
		}
		out.Recorded = &recorded
		r.reproducedCounts.Owners = len(r.recordedSeeds)
		out.Reproduced = &r.reproducedCounts
	}
	return out, nil
}
