package play

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
)

// admittedTicket is a ticket that may be queued.
type admittedTicket struct {
	draft ticketbody.Draft // with what others than the client vouch for
	body  ticketbody.Prepared
	ttl   time.Duration // how long it may wait
	// what is to be remembered of the caller's latencies, in milliseconds by region; nil: nothing
	rememberedLatencies map[string]uint16
}

// admitDraft returns the ticket of a client's draft, or why it is refused. Before it refuses, it reads the profiles
// again: the versions in memory may be a second old.
func (f ticketFace) admitDraft(ctx context.Context, d ticketbody.Draft) (admittedTicket, error) {
	if f.tickets.Profiles == nil { // directors of Open Match alone decide what a ticket is good for
		body, err := ticketbody.Prepare(d)
		return admittedTicket{draft: d, body: body, ttl: defaultTTL}, err
	}
	// A reading of the profiles that begins after asked has every version that was live when the caller asked.
	asked := time.Now()
	a, err := f.judgeDraft(ctx, d)
	// An outage is no judgement: reading again would only wait once more.
	if err == nil || fault.Is(err, fault.Unavailable) {
		return a, err
	}
	if err := f.tickets.Profiles.Refresh(ctx, asked); err != nil {
		return admittedTicket{}, err
	}
	return f.judgeDraft(ctx, d)
}

// judgeDraft returns the ticket of a draft, or why its profiles refuse it.
func (f ticketFace) judgeDraft(ctx context.Context, d ticketbody.Draft) (a admittedTicket, err error) {
	profiles, err := f.profilesOf(ctx, d)
	if err != nil {
		return a, err
	}
	// Vouching comes before the checks: a profile may demand what only a backend or the access token says.
	if a.draft, err = f.vouchForDraft(ctx, d, profiles); err != nil {
		return a, err
	}
	if a.draft, a.rememberedLatencies, err = f.steadyLatencies(ctx, a.draft, profiles); err != nil {
		return a, err
	}
	if a.body, err = ticketbody.Prepare(a.draft); err != nil {
		return a, err
	}
	now := f.tickets.Store.Now()
	// The ticket is judged as the loop will read it: decoded from what the queue stores.
	t, err := ticketbody.Decode("", now, a.body.Body("", now), "")
	if err != nil {
		return a, err
	}
	a.ttl, err = f.checkProfiles(f.callerOf(ctx), profiles, a.draft, t)
	return a, err
}

// profilesOf returns the profiles that a draft names, or if it names none, those that take such tickets: all live ones
// with a pool. Errors: NotFound for an unknown profile; 400 if all live profiles want to be named. Without any profile,
// directors of Open Match decide about tickets, by other fields.
func (f ticketFace) profilesOf(ctx context.Context, d ticketbody.Draft) (all []*profile.Profile, err error) {
	for _, name := range d.Profiles {
		p, err := f.tickets.Profiles.LiveProfile(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(d.Profiles) > 0 {
		return all, nil
	}
	live, err := f.tickets.Profiles.AllLive(ctx)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	// Without a pool a profile takes only tickets that name it.
	takers := slices.DeleteFunc(live, func(p *profile.Profile) bool { return p.Pool == nil })
	var c rest.Check
	c.That(len(takers) > 0, "profiles",
		"is required, because no profile has a pool: none takes tickets that name no profile")
	// AllLive has no order: a refusal must name the same profiles each time.
	slices.SortFunc(takers, func(a, b *profile.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return takers, c.Err()
}

// checkProfiles returns how long the ticket may wait: what the most patient of the profiles that it names allows.
// Errors: 422 for a ticket that can be in no match of one; 400 for attributes that one requires.
func (f ticketFace) checkProfiles(caller string, profiles []*profile.Profile, d ticketbody.Draft,
	t *match.Ticket) (ttl time.Duration, err error) {
	if len(d.Profiles) == 0 {
		return defaultTTL, f.checkTakers(profiles, t)
	}
	for _, p := range profiles {
		if err := checkProfile(p, d, caller); err != nil {
			return 0, err
		}
		if why := explain.Refusal(p, t); why != "" {
			return 0, cannotMatch(why)
		}
		ttl = max(ttl, p.TTL)
	}
	return cmp.Or(ttl, defaultTTL), nil
}

// checkTakers refuses a ticket that names no profile if none of those that take such tickets can match it.
func (f ticketFace) checkTakers(takers []*profile.Profile, t *match.Ticket) error {
	// Others than the profiles may match it, by fields that are not known here.
	if len(takers) == 0 || f.tickets.ForOthers {
		return nil
	}
	var all []string
	for _, p := range takers {
		why := explain.Refusal(p, t)
		if why == "" {
			return nil
		}
		all = append(all, why)
	}
	return cannotMatch(strings.Join(all[:min(len(all), maxReasons)], "; "))
}

func cannotMatch(detail string) error {
	return &rest.Problem{Status: http.StatusUnprocessableEntity, Code: "cannot_match", Title: "Cannot match",
		Detail: detail}
}
