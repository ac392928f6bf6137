package explainer

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
)

// Lacking are waiting tickets that no match of a profile can have, whatever other tickets come, and the reason.
type Lacking struct {
	Profile string // empty: tickets that name none, and that no pool admits
	Why     string // in words, of the first of them
	Tickets int
	Oldest  time.Duration // how long the oldest of them has waited
}

// Survey is what a look at the queue found.
type Survey struct {
	Tickets int           // that wait, of those that were read
	Oldest  time.Duration // how long the oldest has waited
	Partial bool          // the queue has more tickets than were read
	Lacking []Lacking     // the most tickets first
	// Reasons says of each ticket of Lacking, by its id, what it lacks.
	Reasons map[string]string
}

// surveyed is how many tickets of a universe a survey compares with their profiles, the oldest.
const surveyed = 5000

// WithoutMatch returns how many tickets are in Lacking.
func (s Survey) WithoutMatch() (n int) {
	for _, l := range s.Lacking {
		n += l.Tickets
	}
	return n
}

// Survey compares each waiting ticket, of the oldest 5,000, with the profiles that it asks for. A
// ticket counts only if it can be in a match of none of them, and if none is beyond the first 200 live profiles by name,
// of which a survey knows only the names. Errors: TooMany, Unavailable.
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
	after := ""
	for full := true; full; {
		page, more, err := r.Options.Store.ReadCandidates(ctx, r.Options.Universe, after)
		if err != nil {
			return s, err
		}
		for _, c := range page {
			// Asked only when there is another one: a queue of just so many tickets was read in full.
			if s.Tickets == min(r.Options.MaxCandidates, surveyed) {
				s.Partial = true
				return s.sortedBy(groups), nil
			}
			after = c.TicketID
			// A ticket that is in a match or paused does not wait for other tickets.
			if !c.IsFree(now) {
				continue
			}
			waited := now.Sub(c.CreatedAt)
			s.Tickets++
			s.Oldest = max(s.Oldest, waited)
			// A body that cannot be decoded is no candidate of any worker, and not what a survey looks for.
			if t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, r.Options.PlayerArg); err == nil {
				if lack := profiles.lackOf(t); lack.Why != "" {
					groups.addTicket(lack, waited)
					s.Reasons[c.TicketID] = lack.Why
				}
			}
		}
		full = more
	}
	return s.sortedBy(groups), nil
}

func (s Survey) sortedBy(groups lackGroups) Survey {
	for _, g := range groups {
		s.Lacking = append(s.Lacking, *g)
	}
	slices.SortFunc(s.Lacking, func(a, b Lacking) int {
		if a.Tickets != b.Tickets {
			return b.Tickets - a.Tickets
		}
		return strings.Compare(a.Profile+a.Why, b.Profile+b.Why)
	})
	return s
}

// surveyedProfile is a profile with what its rules compare.
type surveyedProfile struct {
	askedProfile explain.Asked
	// nil: a match function decides, this release cannot read the profile, or the survey has not read it
	engine *decide.Engine
}

// surveyedProfiles are all live profiles, by name.
type surveyedProfiles map[string]surveyedProfile

// liveProfiles reads the first profiles by name. Of the others it knows only that they are live.
func (r *Reader) liveProfiles(ctx context.Context) (surveyedProfiles, error) {
	live, err := r.Options.Store.Profiles(ctx, r.Options.Universe, false)
	if err != nil {
		return nil, err
	}
	all := surveyedProfiles{}
	for i, info := range live {
		// Without its rules, but known: a ticket that names it does not name a profile that does not exist.
		if i >= maxLooked {
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

// lackOf returns the first profile of a ticket and what the ticket lacks there. Its Why is empty if one of the profiles
// may match the ticket.
func (all surveyedProfiles) lackOf(t *match.Ticket) (first Lacking) {
	if len(t.Profiles) == 0 {
		if all.anyHolds(t) {
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

// lackGroups are groups of tickets that lack the same in the same profile, by profile and lack.
type lackGroups map[string]*Lacking

// addTicket adds a ticket that has waited for a time to the group of what it lacks.
func (groups lackGroups) addTicket(lack Lacking, waited time.Duration) {
	// No name of a profile has a NUL.
	key := lack.Profile + "\x00" + lack.Why
	g := groups[key]
	if g == nil {
		g = &lack
		groups[key] = g
	}
	g.Tickets++
	g.Oldest = max(g.Oldest, waited)
}

func (all surveyedProfiles) anyHolds(t *match.Ticket) bool {
	for _, p := range all {
		if p.engine == nil {
			return true // it is not known: a match function, or a worker of a newer release, may take the ticket
		}
		if ok, _ := p.engine.Candidate(t); ok {
			return true
		}
	}
	return false
}

// lackText says what a ticket lacks for a profile; empty: nothing, or it is not known.
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
