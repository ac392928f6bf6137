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

// proposal is a match that the engine found, with its tickets.
type proposal struct {
	decision decide.Proposal

	proposedAt time.Time
	tickets    []*waiting
}

// run is a replay under way.
type run struct {
	input *Input

	engine   *decide.Engine
	queue    map[string]*waiting
	events   events
	servers  *servers
	arrivals func() (Arrival, error, bool)
	next     *Arrival // the ticket that arrives next; nil: none

	replayed, recorded *sums
	reproduced         Reproduced
	seeds              map[uint64]bool
	censored           int
	lacking            lacking
	past               *pastTrades // nil: costs of the history are not known
	singles            *singles    // nil: matches are no pairs of tickets
	progressAt         time.Time   // the virtual time of the last call of Progress
}

// Run runs a replay. Its memory grows with the tickets that wait at the same time, not with their total. Errors: the
// input cannot be replayed; those of Arrivals and Matches; ctx ended.
func Run(ctx context.Context, in Input) (*Report, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r := &run{
		input: &in, engine: decide.New(in.Version, in.Seed), queue: map[string]*waiting{},
		servers:  newServers(in.Capacity),
		replayed: newSums(&in), recorded: newSums(&in), seeds: map[uint64]bool{},
		past: newPastTrades(in.Version.Profile), singles: newSingles(in.Version.Profile, in.Begin),
	}
	var regions []decide.Region
	for _, name := range in.Regions {
		regions = append(regions, decide.Region{Name: name, Room: true})
	}
	r.engine.SetRegions(regions)
	arrivals, stop := iter.Pull2(in.Arrivals)
	defer stop()
	r.arrivals = arrivals
	if err := r.pass(ctx); err != nil {
		return nil, err
	}
	return r.report()
}

// pass moves virtual time from event to event until the end.
func (r *run) pass(ctx context.Context) error {
	if err := r.advance(); err != nil {
		return err
	}
	r.progress(r.input.Begin)
	for ctx.Err() == nil {
		at, ok := r.moment()
		if !ok {
			return r.end()
		}
		if err := r.happen(at); err != nil {
			return err
		}
		r.progress(at)
	}
	return ctx.Err()
}

// moment returns the time of the next event; ok is false if none follows before the end.
func (r *run) moment() (at time.Time, ok bool) {
	at = r.input.End
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	if r.next != nil {
		earlier(r.next.SeenAt)
	}
	earlier(r.events.next())
	earlier(r.servers.next())
	if t, waits := r.engine.Next(); waits {
		earlier(t)
	}
	return at, at.Before(r.input.End)
}

// happen handles all events of a moment. The engine first does the work that is due by then, as in the director loop.
func (r *run) happen(at time.Time) error {
	if due, ok := r.engine.Next(); ok && !due.After(at) {
		r.decide(at)
	}
	changed := false
	for len(r.events.queue) > 0 && !r.events.next().After(at) {
		changed = r.event(r.events.pop()) || changed
	}
	for _, d := range r.servers.advance(at) {
		r.seat(d.proposal, at)
	}
	for r.next != nil && !r.next.SeenAt.After(at) {
		changed = true
		r.arrive(*r.next)
		if err := r.advance(); err != nil {
			return err
		}
	}
	if changed {
		r.decide(at)
	}
	return nil
}

// advance reads the next arrival.
func (r *run) advance() error {
	a, err, ok := r.arrivals()
	if err != nil {
		return err
	}
	r.next = nil
	if ok {
		a.SeenAt = later(a.SeenAt, r.input.Begin)
		r.next = &a
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (r *run) arrive(a Arrival) {
	if ok, why := r.engine.Candidate(a.Ticket); !ok {
		if a.Recorded == nil && len(a.Ticket.Profiles) == 0 {
			return // the profile's pool does not admit it
		}
		// It is counted all the same: it waits in vain until it leaves. The engine leaves it out.
		r.lacking.add(why)
	}
	r.remember(&a)
	r.replayed.arrived(&a)
	r.singles.arrive(&a)
	w := &waiting{arrival: a}
	r.queue[a.Ticket.ID] = w
	r.engine.Add(a.Ticket)
	// A ticket that declined in the history leaves in a ready check of the replay, unless the answers are drawn.
	if a.Why != Stayed && (a.Why != Declined || r.input.Accept.Drawn) {
		r.events.put(event{happensAt: later(a.LeftAt, a.LeftSeen), ticket: a.Ticket.ID, leaves: true})
	}
}

// event handles one event, and reports whether the engine has something to decide.
func (r *run) event(e event) bool {
	if !e.leaves {
		r.engine.Return(e.returns...)
		return true
	}
	if w := r.queue[e.ticket]; w != nil {
		// Nothing to decide afterwards: a ticket that leaves makes no match possible.
		r.leave(w, w.arrival.Why, e.happensAt)
	}
	return false
}

func (r *run) leave(w *waiting, why Leaving, at time.Time) {
	delete(r.queue, w.arrival.Ticket.ID)
	r.engine.Remove(w.arrival.Ticket.ID)
	r.replayed.countLeft(&w.arrival, why, at)
	r.differ(w, nil, at)
	r.singles.recordPaid(w.arrival.Ticket.ID, at, 0)
}

// decide lets the engine decide about everything that it has to.
func (r *run) decide(at time.Time) {
	for done := false; !done; {
		var found []decide.Proposal
		found, done = r.engine.Run(at, Effort)
		for _, f := range found {
			r.propose(f, at)
		}
	}
}

// propose asks the players of a match, and finds it a server.
func (r *run) propose(found decide.Proposal, at time.Time) {
	p := &proposal{decision: found, proposedAt: at}
	for _, id := range found.Tickets {
		p.tickets = append(p.tickets, r.queue[id])
	}
	if r.hasLostTickets(p) || r.input.Version.Profile.Accept > 0 && !r.accepted(p) {
		return
	}
	var regions []string
	for _, region := range found.Regions {
		regions = append(regions, region.Name)
	}
	for _, w := range p.tickets {
		delete(r.queue, w.arrival.Ticket.ID)
		r.engine.Remove(w.arrival.Ticket.ID)
	}
	if r.servers.room(regions) {
		r.seat(p, at)
		return
	}
	r.servers.waiting = append(r.servers.waiting, decided{p, regions})
}

// hasLostTickets drops a match of which a ticket had left already, when the worker learns of it: its commit failed, and
// the other tickets are candidates again.
func (r *run) hasLostTickets(p *proposal) bool {
	var at time.Time
	var stay []string
	for _, w := range p.tickets {
		if w.arrival.Why != Stayed && w.arrival.Why != Declined && !w.arrival.LeftAt.After(p.proposedAt) {
			at = later(at, w.arrival.LeftSeen)
		} else {
			stay = append(stay, w.arrival.Ticket.ID)
		}
	}
	if at.IsZero() {
		return false
	}
	r.events.put(event{happensAt: at, returns: stay})
	return true
}

// accepted asks the players. A party that declines leaves when the ready check ends, and the others are candidates
// again.
func (r *run) accepted(p *proposal) bool {
	var stay []string
	var decline []*waiting
	for _, w := range p.tickets {
		if r.input.Accept.accepts(w, r.input.Seed) {
			stay = append(stay, w.arrival.Ticket.ID)
		} else {
			decline = append(decline, w)
		}
		w.readyChecks++
	}
	if len(decline) == 0 {
		return true
	}
	for _, w := range decline {
		r.leave(w, Declined, p.proposedAt)
	}
	r.events.put(event{happensAt: p.proposedAt.Add(r.input.Version.Profile.Accept), returns: stay})
	return false
}

// seat counts a match that has its server.
func (r *run) seat(p *proposal, at time.Time) {
	r.replayed.match(matchOf(r.input.Version.Number, &p.decision))
	r.replayed.band(p, at)
	paid := r.replayed.trade.match(p)
	for _, w := range p.tickets {
		r.singles.recordPaid(w.arrival.Ticket.ID, at, paid)
		r.replayed.matched(&w.arrival, at)
		if w.arrival.Recorded != nil && r.instant(w.arrival.Recorded).Before(at) {
			r.censored++
		}
	}
	r.compare(p)
}

// instant returns when a ticket got its recorded match: its decision, or its server if capacity is limited.
func (r *run) instant(was *RecordedMatch) time.Time {
	if r.input.Capacity.Recorded {
		return was.SeatedAt
	}
	return was.DecidedAt
}

// end counts those that wait at the end.
func (r *run) end() error {
	for _, d := range r.servers.waiting {
		for _, w := range d.proposal.tickets {
			r.queue[w.arrival.Ticket.ID] = w
		}
	}
	for _, w := range r.queue {
		r.replayed.countLeft(&w.arrival, Stayed, r.input.End)
		r.singles.recordPaid(w.arrival.Ticket.ID, r.input.End, 0)
		r.differ(w, nil, r.input.End)
		if w.arrival.Recorded != nil && r.instant(w.arrival.Recorded).Before(r.input.End) {
			r.censored++
		}
	}
	if r.input.Matches == nil {
		return nil
	}
	for m, err := range r.input.Matches {
		if err != nil {
			return err
		}
		r.recorded.match(m)
	}
	return nil
}

func (r *run) progress(at time.Time) {
	if r.input.Progress != nil && at.Sub(r.progressAt) >= r.input.End.Sub(r.input.Begin)/100 {
		r.progressAt = at
		r.input.Progress(at)
	}
}

// report returns the report of the finished replay.
func (r *run) report() (*Report, error) {
	out := &Report{
		Schema: 1, Profile: r.input.Version.Profile.Name, Version: r.input.Version.Number, From: r.input.Begin.UTC(),
		To:       r.input.End.UTC(),
		Seed:     r.input.Seed,
		Replayed: r.replayed.finish(), Censored: r.censored,
		Optimum: r.singles.compare(r.input.End), NoCandidates: r.lacking.summary(),
		NotReproduced: slices.Clip(r.notes()),
	}
	if r.input.Matches != nil {
		recorded := r.recorded.finish()
		if r.past == nil {
			recorded.Trade = nil
		}
		out.Recorded = &recorded
		r.reproduced.Owners = len(r.seeds)
		out.Reproduced = &r.reproduced
	}
	return out, nil
}
