package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// Question asks why a ticket waits.
type Question struct {
	Ticket   *match.Ticket
	Now      time.Time // by the database's clock
	State    string    // of the ticket; "queued" and "waiting_for_server" are those of candidates
	Profiles []Asked
	Hosts    Hosts
	Seats    []OtherSeat
}

// Asked is a profile that the ticket asks for or, if it asks for none, one that has a pool.
type Asked struct {
	Name    string
	Version int
	Profile *profile.Profile // nil: Unusable says why
	// Unusable is why the profile has no candidates at all; the zero value: it may have some.
	Unusable Reason
	Rosters  []decide.Roster // open matches that newcomers may join
}

// OtherSeat is a seat that a player of the ticket holds. It prevents another seat of that mode.
type OtherSeat struct{ Player, Region, Mode, Session string }

// effort is the number of steps of all searches of an explanation, some 200 ms of a core.
const effort = 1 << 19

// Explanation builds the answer to a question. It is not safe for concurrent use.
type Explanation struct {
	question Question

	ticketAnswer Ticket
	inquiries    []*decide.Inquiry // by profile; nil: the ticket is no candidate of it
}

// Begin begins to answer a question.
func Begin(q Question) *Explanation {
	e := &Explanation{question: q, inquiries: make([]*decide.Inquiry, len(q.Profiles))}
	e.ticketAnswer = Ticket{Schema: Schema, TicketID: q.Ticket.ID, AsOf: q.Now.UTC(), State: q.State,
		CreatedAt: q.Ticket.Created.UTC(), Profiles: []Profile{}}
	// A ticket's players are in the order of their subs.
	for _, p := range q.Ticket.Players {
		e.ticketAnswer.Party = append(e.ticketAnswer.Party, p.Sub)
	}
	e.ticketAnswer.Sources, e.ticketAnswer.ClaimedLatencies = sourcesOf(q.Ticket), q.Ticket.ClaimedLatencies
	for i, asked := range q.Profiles {
		e.ticketAnswer.Profiles = append(e.ticketAnswer.Profiles, e.beginProfile(i, asked))
	}
	return e
}

// beginProfile answers what needs no other tickets, and begins an inquiry if the ticket is a candidate.
func (e *Explanation) beginProfile(i int, asked Asked) Profile {
	found := Profile{Name: asked.Name, Version: asked.Version}
	p := asked.Profile
	// Nothing can be compared: the profile is unknown, retired, unreadable, or decided by a function.
	if p == nil {
		found.Why = []Reason{asked.Unusable}
		return found
	}
	inquiry, lacks := decide.Inquire(decide.Version{Profile: p, Number: asked.Version}, e.question.Ticket,
		e.hostRegions(p), e.question.Now)
	found.Why = append(reasonsOf(p, e.question.Ticket, lacks), e.busyReasons(p)...)
	found.Candidate = len(found.Why) == 0
	found.Steps = stepsOf(p, e.question.Ticket, e.question.Now)
	found.Regions = regionsOf(p, e.question.Ticket, e.question.Hosts, e.question.Now)
	if len(p.Modes) > 0 && len(decide.RegionsOf(p, e.question.Hosts)) == 0 {
		found.NoHost = "no game region has a host of mode " + joinWords(p.Modes, "or")
	}
	if found.Candidate {
		for _, r := range asked.Rosters {
			inquiry.PutRoster(r)
		}
		e.inquiries[i] = inquiry
	}
	return found
}

// hostRegions returns the regions that may host a match. Without any host it returns the regions that the ticket measured,
// and the answer says that there is no host: otherwise every rule on latency would fail and hide the other reasons.
func (e *Explanation) hostRegions(p *profile.Profile) []decide.Region {
	all := decide.RegionsOf(p, e.question.Hosts)
	if len(all) == 0 && len(p.Modes) > 0 {
		for name := range e.question.Ticket.Latencies {
			all = append(all, decide.Region{Name: name})
		}
	}
	return all
}

// busyReasons returns why the ticket is no candidate although its profile would take it.
func (e *Explanation) busyReasons(p *profile.Profile) []Reason {
	var all []Reason
	if e.question.State != "queued" && e.question.State != "waiting_for_server" {
		all = append(all, Reason{Reason: InState, Text: "the ticket is " + e.question.State})
	}
	for _, s := range e.question.Seats {
		// A player has one seat in each mode: a seat of another mode does not matter.
		if slices.Contains(p.Modes, s.Mode) {
			all = append(all, Reason{Reason: Seated,
				Text: fmt.Sprintf("player %s holds a seat in session %s", s.Player, s.Session), Player: s.Player})
		}
	}
	return all
}

// NeedsOthers reports whether any profile compares the ticket with others. If not, the caller need not read them.
func (e *Explanation) NeedsOthers() bool {
	return slices.ContainsFunc(e.inquiries, func(q *decide.Inquiry) bool { return q != nil })
}

// Compare adds another ticket of the queue, in any order.
func (e *Explanation) Compare(other *match.Ticket) {
	e.ticketAnswer.Read++ // tickets that are no candidates count, too: Read says how much of the queue was read
	for _, q := range e.inquiries {
		if q != nil {
			q.Compare(other)
		}
	}
}

// Answer searches, and returns the answer. Call it once, after all others are compared. partial reports that there are
// more tickets, which were left out.
func (e *Explanation) Answer(partial bool) Ticket {
	e.ticketAnswer.Partial = partial
	for i, q := range e.inquiries {
		if q != nil {
			// The profiles share the effort, so that the answer for many takes no longer than for one.
			e.ticketAnswer.Profiles[i].takeFindings(q.Findings(effort / len(e.inquiries)))
		}
	}
	return e.ticketAnswer
}

// takeFindings adds what an inquiry found to the explanation.
func (p *Profile) takeFindings(f decide.Findings) {
	p.Others, p.Match, p.Joins, p.HeadStart = f.OtherCandidates, f.Match, f.Joins, f.HeadStart.Seconds()
	if !f.MatchDueAt.IsZero() {
		p.MatchAt = &f.MatchDueAt
	}
	p.Funnel = funnelOf(f)
	p.Best = &Best{Players: f.Best.Players, Of: f.Best.Needed, Lacks: f.Best.Lacks}
	p.WouldMatch = relaxationsOf(f.Relaxations)
	p.Search = "bounded"
	if f.Complete {
		p.Search = "complete"
	}
	if f.Refused != "" {
		p.Why = append(p.Why, Reason{Reason: OwnParty, Text: "its own party breaks rule " + f.Refused, Rule: f.Refused})
	}
	if n := f.Nearest; n != nil {
		p.Nearest = &Nearest{TicketID: n.Ticket}
		for _, r := range n.Fails {
			p.Nearest.Fails = append(p.Nearest.Fails, Fail{r.ID, *finiteNumber(r.Value), *finiteNumber(r.Limit)})
		}
	}
}

// funnelOf returns the stages in the order of the profile's rules, and then what excludes tickets besides them.
func funnelOf(f decide.Findings) []FunnelStage {
	var all []FunnelStage
	left := f.OtherCandidates // that no rule of pairs so far excludes
	for _, r := range f.Rules {
		stage := FunnelStage{Rule: r.ID}
		if r.OfPairs {
			stage.Holds, stage.Left, left = &r.Holds, &r.HoldsAllBefore, r.HoldsAllBefore
		} else if r.Judged {
			stage.Value, stage.Limit = finiteNumber(r.Value), finiteNumber(r.Limit)
		}
		all = append(all, stage)
	}
	for _, because := range []string{"size", "mode", "player"} {
		if n := f.Excluded[because]; n > 0 {
			left -= n
			remain := left // the stages keep pointers
			all = append(all, FunnelStage{Rule: because, Left: &remain})
		}
	}
	return all
}
