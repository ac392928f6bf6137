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
// ticket counts only if it can be in a match of none of them. Errors: TooMany, Unavailable.
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
	groups := map[string]*Lacking{}
	s.Reasons = map[string]string{}
	after := ""
	for full := true; full; {
		page, more, err := r.Options.Store.ReadCandidates(ctx, r.Options.Universe, after)
		if err != nil {
			return s, err
		}
		for _, c := range page {
			if s.Tickets == min(r.Options.MaxCandidates, surveyed) {
				s.Partial = true
				return s.sortedBy(groups), nil
			}
			after = c.TicketID
			if !c.IsFree(now) {
				continue
			}
			waited := now.Sub(c.CreatedAt)
			s.Tickets++
			s.Oldest = max(s.Oldest, waited)
			// A body that cannot be decoded is no candidate of any worker, and not what a survey looks for.
			if t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, r.Options.PlayerArg); err == nil {
				if why := profiles.countTicket(t, waited, groups); why != "" {
					s.Reasons[c.TicketID] = why
				}
			}
		}
		full = more
	}
	return s.sortedBy(groups), nil
}

func (s Survey) sortedBy(groups map[string]*Lacking) Survey {
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
	engine       *decide.Engine // nil: a match function decides, or this release cannot read the profile
}

type surveyedProfiles map[string]surveyedProfile

func (r *Reader) liveProfiles(ctx context.Context) (surveyedProfiles, error) {
	live, err := r.Options.Store.Profiles(ctx, r.Options.Universe, false)
	if err != nil {
		return nil, err
	}
	all := surveyedProfiles{}
	for _, info := range live[:min(len(live), maxLooked)] {
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

// countTicket adds a ticket to the group of its first profile and of what it lacks there, which it returns, unless one
// of its profiles may match it.
func (all surveyedProfiles) countTicket(t *match.Ticket, waited time.Duration,
	groups map[string]*Lacking) (lacks string) {
	names := t.Profiles
	if len(names) == 0 {
		if all.anyHolds(t) {
			return ""
		}
		names = []string{""}
	}
	first := Lacking{}
	for i, name := range names {
		why := all.lackText(name, t)
		if why == "" {
			return ""
		}
		if i == 0 {
			first = Lacking{Profile: name, Why: why}
		}
	}
	key := first.Profile + "\x00" + first.Why
	g := groups[key]
	if g == nil {
		g = &first
		groups[key] = g
	}
	g.Tickets++
	g.Oldest = max(g.Oldest, waited)
	return first.Why
}

func (all surveyedProfiles) anyHolds(t *match.Ticket) bool {
	for _, p := range all {
		if p.engine == nil {
			return true // a match function may take it
		}
		if ok, _ := p.engine.Candidate(t); ok {
			return true
		}
	}
	return false
}

// lackText says what a ticket lacks for a profile; empty: nothing, or it is not known.
func (all surveyedProfiles) lackText(name string, t *match.Ticket) string {
	if name == "" {
		return "it names no profile, and no pool of a profile admits it"
	}
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
