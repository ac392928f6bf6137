package explainer

import (
	"context"
	"maps"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
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
	if known.State.Final() {
		return r.explainGone(known), nil
	}
	return r.explainWaiting(ctx, known)
}

// explainGone describes a ticket that has left the queue.
func (r *Reader) explainGone(t db.PlayerTicket) explain.Ticket {
	return explain.Ticket{
		Schema: explain.Schema, TicketID: t.ID, AsOf: r.Options.Store.Now().UTC(), State: string(t.State),
		Reason:  t.FinalReason,
		MatchID: t.MatchID, Party: t.Party,
		// in JSON a list, where nil would be null
		Profiles: []explain.Profile{},
	}
}

// explainRemembered looks up a ticket in the history, after its events have been deleted.
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
	// There is one for each id: an empty one where the history has none.
	if found[0].Outcome == "" {
		return explain.Ticket{}, unknown
	}
	return r.explainGone(db.PlayerTicket{ID: id, State: db.TicketState(found[0].Outcome)}), nil
}

// explainWaiting explains a ticket in the queue, in comparison with the others.
func (r *Reader) explainWaiting(ctx context.Context, known db.PlayerTicket) (explain.Ticket, error) {
	q := explain.Question{Now: r.Options.Store.Now(), State: string(known.State)}
	var err error
	if q.Ticket, err = ticketbody.Decode(known.ID, known.CreatedAt, known.Body, r.Options.PlayerArg); err != nil {
		t := r.explainGone(known)
		t.Reason = "its body cannot be read: " + err.Error()
		return t, nil //nolint:nilerr // that the ticket cannot be read is the explanation
	}
	var left []string
	if q.Profiles, left, err = r.askedProfiles(ctx, q.Ticket); err != nil {
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
	answer.NotExplained, answer.MatchID = left, known.MatchID
	return answer, nil
}

// addSurroundings adds hosts, open matches and the seats of the players to the question.
func (r *Reader) addSurroundings(ctx context.Context, q *explain.Question) error {
	modes, joinable := map[string]bool{}, map[string]int{}
	for i, p := range q.Profiles {
		// Rules do not decide for it, or it cannot be read: see readProfile.
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

func (r *Reader) addRosters(ctx context.Context, q *explain.Question, joinable map[string]int) error {
	if len(joinable) == 0 {
		return nil
	}
	open, err := r.Options.Store.OpenMatches(ctx, r.Options.Universe, slices.Sorted(maps.Keys(joinable)))
	if err != nil {
		return err
	}
	for _, m := range open {
		p := &q.Profiles[joinable[m.ProfileName]]
		p.Rosters = append(p.Rosters, loop.RosterOf(p.Profile, m))
	}
	return nil
}

func (r *Reader) addSeats(ctx context.Context, q *explain.Question) error {
	var subs []string
	for _, p := range q.Ticket.Players {
		subs = append(subs, p.Sub)
	}
	held, err := r.Options.Store.HeldSeats(ctx, slices.Sorted(maps.Keys(q.Hosts)), subs, q.Ticket.Created)
	for _, h := range held {
		q.Seats = append(q.Seats, explain.OtherSeat{Player: h.Sub, Mode: h.Mode, Session: h.Session})
	}
	return err
}

// compareQueue reads the queue, page by page. It reports whether the queue has more tickets than it read.
func (r *Reader) compareQueue(ctx context.Context, e *explain.Explanation,
	q explain.Question) (partial bool, err error) {
	after, read := "", 0
	for full := true; full; {
		var page []db.Candidate
		if page, full, err = r.Options.Store.ReadCandidates(ctx, r.Options.Universe, after); err != nil {
			return false, err
		}
		for _, c := range page {
			after = c.TicketID
			// Tickets that are in a match cannot play with this one, whatever the rules say.
			if c.TicketID == q.Ticket.ID || !c.IsFree(q.Now) {
				continue
			}
			// Asked only when there is another one: a queue of just so many tickets was read in full.
			if read == r.Options.MaxCandidates {
				return true, nil
			}
			read++
			// One that cannot be decoded is no candidate of a worker, and plays with nobody.
			if t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, r.Options.PlayerArg); err == nil {
				e.Compare(t)
			}
		}
	}
	return false, nil
}

const (
	// maxProfiles bounds the profiles of an explanation: as many as a ticket may ask for.
	maxProfiles = 8
	// maxLooked bounds the profiles that are read for a ticket that asks for none, and for a survey.
	maxLooked = 200
)

// askedProfiles returns the profiles that a ticket asks for, or for one that asks for none those with a pool, and the
// names of those that are left out.
func (r *Reader) askedProfiles(ctx context.Context, t *match.Ticket) (asked []explain.Asked, left []string, err error) {
	if len(t.Profiles) > 0 {
		return r.namedProfiles(ctx, t.Profiles)
	}
	return r.poolProfiles(ctx, t)
}

func (r *Reader) namedProfiles(ctx context.Context, names []string) (asked []explain.Asked, left []string, err error) {
	// A ticket of Open Match names profiles by tags, as many as it likes.
	if len(names) > maxProfiles {
		names, left = names[:maxProfiles], names[maxProfiles:]
	}
	for _, name := range names {
		a, err := r.readProfile(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, a)
	}
	return asked, left, nil
}

// poolProfiles returns the profiles with a pool, first those whose pool admits the ticket. left names further ones whose
// pool admits it.
func (r *Reader) poolProfiles(ctx context.Context, t *match.Ticket) (asked []explain.Asked, left []string, err error) {
	live, err := r.Options.Store.Profiles(ctx, r.Options.Universe, false)
	if err != nil {
		return nil, nil, err
	}
	var others []explain.Asked
	for _, p := range live[:min(len(live), maxLooked)] {
		a, err := r.readProfile(ctx, p.Name)
		switch {
		case err != nil:
			return nil, nil, err
		// Rules do not decide for it, or it takes only tickets that name it.
		case a.Profile == nil || a.Profile.Pool == nil:
		case !holdsTicket(a.Profile, t):
			others = append(others, a)
		case len(asked) < maxProfiles:
			asked = append(asked, a)
		default:
			left = append(left, a.Name)
		}
	}
	// What keeps the ticket out of a pool is worth saying where there is room for it.
	return append(asked, others[:min(len(others), maxProfiles-len(asked))]...), left, nil
}

// holdsTicket reports whether the pool admits the ticket. What else the ticket lacks is for the explanation to say.
func holdsTicket(p *profile.Profile, t *match.Ticket) bool {
	_, lacks := decide.New(decide.Version{Profile: p}, 0).Candidate(t)
	return !slices.ContainsFunc(lacks, func(l decide.Lack) bool { return l.Why == decide.LacksPool })
}

// readProfile reads the live version of a profile.
func (r *Reader) readProfile(ctx context.Context, name string) (explain.Asked, error) {
	a := explain.Asked{Name: name}
	stored, err := r.Options.Store.Profile(ctx, r.Options.Universe, name, 0) // 0: the live version
	if fault.Is(err, fault.NotFound) {
		a.Unusable = explain.Reason{Reason: explain.Unknown, Text: "there is no such profile"}
		return a, nil
	}
	if err != nil {
		return a, err
	}
	a.Version = stored.Version
	read, err := profile.ParseStored([]byte(stored.Document))
	switch {
	case stored.RetiredAt != nil:
		a.Unusable = explain.Reason{Reason: explain.Retired, Text: "the profile is retired"}
	case err != nil:
		a.Unusable = explain.Reason{Reason: explain.Unreadable,
			Text: "this release cannot read the profile: " + err.Error()}
	case read.Function != nil:
		a.Unusable = explain.Reason{Reason: explain.Function,
			Text: "a match function decides for the profile, not teams and rules"}
	default:
		a.Profile = read
	}
	return a, nil
}
