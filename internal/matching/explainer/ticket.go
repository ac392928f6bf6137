package explainer

import (
	"context"
	"maps"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

// Ticket explains a ticket. One that has left the queue is known for as long as its events or its history are kept.
// Errors: NotFound, "ticket_unknown"; TooMany; Unavailable.
func (r *Reader) Ticket(ctx context.Context, id string) (explain.Ticket, error) {
	leave, err := r.enterSlot(ctx)
	if err != nil {
		return explain.Ticket{}, err
	}
	defer leave()
	known, err := r.Options.Store.AnyTicket(ctx, r.Options.Universe, id)
	// A ticket that left is found by its events, which are deleted before its history.
	if fault.Is(err, fault.NotFound) {
		return r.explainRemembered(ctx, id)
	}
	if err != nil {
		return explain.Ticket{}, err
	}
	if known.State.IsFinal() {
		return r.describeState(known), nil
	}
	return r.explainWaiting(ctx, known)
}

// describeState describes a ticket without its profiles: one that has left the queue, or whose body cannot be read.
func (r *Reader) describeState(t db.PlayerTicket) explain.Ticket {
	return explain.Ticket{
		Schema: explain.Schema, TicketID: t.ID, AsOf: r.Options.Store.Now().UTC(), State: string(t.State),
		Reason:  t.FinalReason,
		MatchID: t.MatchID, Party: t.Party,
		// Not nil, which in JSON would be null instead of a list.
		Profiles: []explain.Profile{},
	}
}

// explainRemembered explains a ticket from the history, after its events have been deleted. Errors: NotFound,
// "ticket_unknown"; Unavailable.
func (r *Reader) explainRemembered(ctx context.Context, id string) (explain.Ticket, error) {
	unknown := &fault.Error{
		Kind: fault.NotFound, Code: "ticket_unknown",
		Detail: "ticket " + id + " is not known: tickets that left the queue are remembered for DIRECTOR_MATCH_HISTORY",
	}
	if !db.IssuedHere(r.Options.Universe, db.TicketID, id) {
		return explain.Ticket{}, unknown
	}
	// Ten years reach further back than any history.
	found, err := r.Options.Store.TicketOutcomes(ctx, r.Options.Universe, []string{id},
		r.Options.Store.Now().AddDate(-10, 0, 0))
	if err != nil {
		return explain.Ticket{}, err
	}
	// TicketOutcomes returns one for each id, an empty one where the history has none.
	if found[0].Outcome == "" {
		return explain.Ticket{}, unknown
	}
	return r.describeState(db.PlayerTicket{ID: id, State: db.TicketState(found[0].Outcome)}), nil
}

// explainWaiting explains a ticket in the queue, in comparison with the others.
func (r *Reader) explainWaiting(ctx context.Context, known db.PlayerTicket) (explain.Ticket, error) {
	q := explain.Question{Now: r.Options.Store.Now(), State: string(known.State)}
	var err error
	if q.Ticket, err = ticketbody.Decode(known.ID, known.CreatedAt, known.Body, r.Options.PlayerArg); err != nil {
		t := r.describeState(known)
		t.Reason = "its body cannot be read: " + err.Error()
		return t, nil //nolint:nilerr // that the ticket cannot be read is the explanation
	}
	var leftOut []string
	if q.Profiles, leftOut, err = r.askedProfiles(ctx, q.Ticket); err != nil {
		return explain.Ticket{}, err
	}
	if err := r.addSurroundings(ctx, &q); err != nil {
		return explain.Ticket{}, err
	}
	e := explain.Begin(q)
	partial := false
	// The whole queue is read only if the answer depends on it.
	if e.NeedsOthers() {
		if partial, err = r.compareQueue(ctx, e, q); err != nil {
			return explain.Ticket{}, err
		}
	}
	answer := e.Answer(partial)
	answer.NotExplained, answer.MatchID = leftOut, known.MatchID
	return answer, nil
}

// addSurroundings adds hosts, open matches and the seats of the players to the question.
func (r *Reader) addSurroundings(ctx context.Context, q *explain.Question) error {
	modes, joinable := map[string]bool{}, map[string]int{}
	for i, p := range q.Profiles {
		// Rules do not decide for the profile, or it cannot be read: see readProfile.
		if p.Profile == nil {
			continue
		}
		for _, m := range p.Profile.Modes {
			modes[m] = true
		}
		if p.Profile.JoinInProgress.When != profile.Never {
			joinable[p.Name] = i
		}
	}
	hosts, err := r.Options.Store.HostRegions(ctx, slices.Sorted(maps.Keys(modes)))
	if err != nil {
		return err
	}
	q.Hosts = explain.Hosts{}
	for _, h := range hosts {
		if q.Hosts[h.Region] == nil {
			q.Hosts[h.Region] = map[string]int{}
		}
		q.Hosts[h.Region][h.Mode] = h.FreeSeats
	}
	if err := r.addRosters(ctx, q, joinable); err != nil {
		return err
	}
	return r.addSeats(ctx, q)
}

// addRosters adds the open matches of profiles that may join them; joinable are their indexes in q.Profiles, by name.
func (r *Reader) addRosters(ctx context.Context, q *explain.Question, joinable map[string]int) error {
	if len(joinable) == 0 {
		return nil
	}
	open, err := r.Options.Store.JoinableMatches(ctx, r.Options.Universe, slices.Sorted(maps.Keys(joinable)))
	if err != nil {
		return err
	}
	for _, m := range open {
		p := &q.Profiles[joinable[m.ProfileName]]
		p.Rosters = append(p.Rosters, loop.RosterOf(p.Profile, m))
	}
	return nil
}

// addSeats adds the seats that the ticket's players hold in regions of the hosts.
func (r *Reader) addSeats(ctx context.Context, q *explain.Question) error {
	var subs []string
	for _, p := range q.Ticket.Players {
		subs = append(subs, p.Sub)
	}
	held, err := r.Options.Store.HeldSeats(ctx, slices.Sorted(maps.Keys(q.Hosts)), subs, q.Ticket.Created)
	if err != nil {
		return err
	}
	for _, h := range held {
		q.Seats = append(q.Seats, explain.OtherSeat{Player: h.Sub, Mode: h.Mode, Session: h.Session})
	}
	return nil
}

// compareQueue compares the ticket with the others of the queue, page by page, at most MaxCandidates. It reports whether
// the queue has more.
func (r *Reader) compareQueue(ctx context.Context, e *explain.Explanation,
	q explain.Question) (partial bool, err error) {
	// Tickets that are in a match cannot play with this one, whatever the rules say.
	isOther := func(c db.Candidate) bool { return c.TicketID != q.Ticket.ID && c.IsFree(q.Now) }
	return r.readCandidates(ctx, r.Options.MaxCandidates, isOther, func(c db.Candidate) {
		// A ticket that cannot be decoded is no candidate of a worker, and plays with nobody.
		if t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, r.Options.PlayerArg); err == nil {
			e.Compare(t)
		}
	})
}

// readCandidates reads the tickets of the queue that are wanted, the oldest first, at most so many, page by page. It
// reports whether the queue has more of them.
func (r *Reader) readCandidates(ctx context.Context, most int, isWanted func(db.Candidate) bool,
	use func(db.Candidate)) (partial bool, err error) {
	after, count := "", 0
	for hasMore := true; hasMore; {
		var page []db.Candidate
		page, hasMore, err = r.Options.Store.ReadCandidates(ctx, r.Options.Universe, after)
		if err != nil {
			return false, err
		}
		for _, c := range page {
			after = c.TicketID
			if !isWanted(c) {
				continue
			}
			// Asked only when there is another one: a queue of just so many tickets was read in full.
			if count == most {
				return true, nil
			}
			count++
			use(c)
		}
	}
	return false, nil
}
