package explainer

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
)

// Lacking are waiting tickets that no match of a profile can have, whatever other tickets come, and the reason.
type Lacking struct {
	Profile string // empty: tickets that name none, and that no pool admits
	Why     string // in words, the same for all of them
	Tickets int
	Oldest  time.Duration // how long the oldest of them has waited
}

// Survey is what [Reader.Survey] found in the queue.
type Survey struct {
	Tickets int           // that wait, of those that were read
	Oldest  time.Duration // how long the oldest has waited
	Partial bool          // the queue has more tickets than were read
	Lacking []Lacking     // the most tickets first
	// Reasons says of each ticket in a group of Lacking, by the ticket's id, what it lacks.
	Reasons map[string]string
}

// maxSurveyed bounds the tickets, the oldest of a universe, that a survey compares with their profiles.
const maxSurveyed = 5000

// WithoutMatch returns how many tickets are in Lacking.
func (s Survey) WithoutMatch() (n int) {
	for _, l := range s.Lacking {
		n += l.Tickets
	}
	return n
}

// Survey compares each waiting ticket, of the oldest 5,000, with the profiles that it asks for. A ticket is lacking only
// if no match of any of these profiles can have it. A profile beyond the first 200 live ones by name may match any
// ticket: a survey knows only its name. Errors: TooMany, Unavailable.
func (r *Reader) Survey(ctx context.Context) (s Survey, err error) {
	leave, err := r.enterSlot(ctx)
	if err != nil {
		return s, err
	}
	defer leave()
	profiles, err := r.liveProfiles(ctx)
	if err != nil {
		return s, err
	}
	now := r.Options.Store.Now()
	groups := lackGroups{}
	s.Reasons = map[string]string{}
	// A ticket that is in a match or paused does not wait for other tickets.
	isFree := func(c db.Candidate) bool { return c.IsFree(now) }
	s.Partial, err = r.readCandidates(ctx, min(r.Options.MaxCandidates, maxSurveyed), isFree, func(c db.Candidate) {
		waited := now.Sub(c.CreatedAt)
		s.Tickets++
		s.Oldest = max(s.Oldest, waited)
		t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, r.Options.PlayerArg)
		// A ticket whose body cannot be decoded is no candidate of any worker, and not what a survey looks for.
		if err != nil {
			return
		}
		if lack := profiles.lackOf(t); lack.Why != "" {
			groups.addTicket(lack, waited)
			s.Reasons[c.TicketID] = lack.Why
		}
	})
	s.Lacking = groups.sorted()
	return s, err
}

// surveyedProfile is a live profile with the engine that says what its candidates need.
type surveyedProfile struct {
	askedProfile explain.Asked
	// engine is nil where a match function decides, this release cannot read the profile, or the survey has not read it.
	engine *decide.Engine
}

// surveyedProfiles are all live profiles, by name.
type surveyedProfiles map[string]surveyedProfile

// liveProfiles reads the first maxRead live profiles by name. Of the others the result has only the names.
func (r *Reader) liveProfiles(ctx context.Context) (surveyedProfiles, error) {
	live, err := r.Options.Store.Profiles(ctx, db.ProfileQuery{Universe: r.Options.Universe})
	if err != nil {
		return nil, err
	}
	all := surveyedProfiles{}
	for i, info := range live {
		// Without its rules, but known: the profile of a ticket that names it exists.
		if i >= maxRead {
			all[info.Name] = surveyedProfile{}
			continue
		}
		asked, err := r.readProfile(ctx, info.Name)
		if err != nil {
			return nil, err
		}
		p := surveyedProfile{askedProfile: asked}
		if asked.Profile != nil {
			p.engine = decide.New(decide.Version{Profile: asked.Profile}, 0)
		}
		all[info.Name] = p
	}
	return all, nil
}

// lackOf returns the profile that a ticket names first and what the ticket lacks there. Why is empty if one of its
// profiles may match the ticket.
func (all surveyedProfiles) lackOf(t *match.Ticket) (first Lacking) {
	if len(t.Profiles) == 0 {
		if all.anyMayMatch(t) {
			return Lacking{}
		}
		return Lacking{Why: "it names no profile, and no pool of a profile admits it"}
	}
	for i, name := range t.Profiles {
		why := all.lackText(name, t)
		if why == "" {
			return Lacking{}
		}
		// The report names the profile that the ticket names first.
		if i == 0 {
			first = Lacking{Profile: name, Why: why}
		}
	}
	return first
}

// lackGroups are groups of tickets that lack the same in the same profile, by profile and reason.
type lackGroups map[string]*Lacking

// addTicket adds a ticket that has waited for a time to the group of what it lacks.
func (groups lackGroups) addTicket(lack Lacking, waited time.Duration) {
	key := lack.Profile + "\x00" + lack.Why // no name of a profile has a NUL
	g := groups[key]
	if g == nil {
		g = &lack
		groups[key] = g
	}
	g.Tickets++
	g.Oldest = max(g.Oldest, waited)
}

// sorted returns the groups, that of the most tickets first.
func (groups lackGroups) sorted() (all []Lacking) {
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Lacking) int {
		if a.Tickets != b.Tickets {
			return b.Tickets - a.Tickets
		}
		return strings.Compare(a.Profile+a.Why, b.Profile+b.Why)
	})
	return all
}

// anyMayMatch reports whether a live profile may match a ticket that names none.
func (all surveyedProfiles) anyMayMatch(t *match.Ticket) bool {
	for _, p := range all {
		if p.engine == nil {
			return true // its rules are not known: a match function, or a worker of a newer release, may take the ticket
		}
		if ok, _ := p.engine.Candidate(t); ok {
			return true
		}
	}
	return false
}

// lackText says what a ticket lacks for a profile. "" is nothing, also where the profile's rules are not known.
func (all surveyedProfiles) lackText(name string, t *match.Ticket) string {
	p, found := all[name]
	switch {
	case !found:
		return "there is no live profile of this name"
	case p.engine == nil:
		return ""
	}
	ok, lacks := p.engine.Candidate(t)
	if ok {
		return ""
	}
	return explain.LackText(lacks[0], p.askedProfile.Profile, t)
}
