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

// admit returns how long a ticket may wait, or why it is refused. Before it refuses, it reads the profiles again: the
// versions in memory may be a second old.
func (f ticketFace) admit(ctx context.Context, d ticketbody.Draft,
	body ticketbody.Prepared) (ttl time.Duration, err error) {
	if f.tickets.Profiles == nil {
		return defaultTTL, nil
	}
	now := time.Now()
	t, err := ticketbody.Decode("", f.tickets.Store.Now(), body.Body("", f.tickets.Store.Now()), "")
	if err != nil {
		return 0, err
	}
	if ttl, err = f.checkProfiles(ctx, d, t); err == nil || fault.Is(err, fault.Unavailable) {
		return ttl, err
	}
	if err := f.tickets.Profiles.Refresh(ctx, now); err != nil {
		return 0, err
	}
	return f.checkProfiles(ctx, d, t)
}

// checkProfiles returns how long the ticket may wait: what the most patient of its profiles allows. Errors: NotFound
// for an unknown profile; 422 for a ticket that can be in no match of one; 400 for attributes that one requires, and
// for a ticket that no profile would take.
func (f ticketFace) checkProfiles(ctx context.Context, d ticketbody.Draft,
	t *match.Ticket) (ttl time.Duration, err error) {
	if len(d.Profiles) == 0 {
		return defaultTTL, f.checkUnnamed(ctx, t)
	}
	for _, name := range d.Profiles {
		p, err := f.tickets.Profiles.LiveProfile(ctx, name)
		if err != nil {
			return 0, err
		}
		if err := checkProfile(p, d); err != nil {
			return 0, err
		}
		if why := explain.Refusal(p, t); why != "" {
			return 0, cannotMatch(why)
		}
		ttl = max(ttl, p.TTL)
	}
	return cmp.Or(ttl, defaultTTL), nil
}

// checkUnnamed refuses a ticket that names no profile if all live profiles want to be named, or none can match it.
// Without any profile, directors of Open Match decide about tickets, by other fields.
func (f ticketFace) checkUnnamed(ctx context.Context, t *match.Ticket) error {
	live, err := f.tickets.Profiles.AllLive(ctx)
	if err != nil || len(live) == 0 {
		return err
	}
	var c rest.Check
	takers := slices.DeleteFunc(live, func(p *profile.Profile) bool { return p.Pool == nil })
	c.That(len(takers) > 0, "profiles", "is required, because no profile has a pool: none takes tickets that name no profile")
	if len(takers) == 0 || f.tickets.ForOthers {
		return c.Err()
	}
	slices.SortFunc(takers, func(a, b *profile.Profile) int { return cmp.Compare(a.Name, b.Name) })
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

// maxReasons bounds the profiles of which an answer says why they cannot match a ticket.
const maxReasons = 3

func cannotMatch(detail string) error {
	return &rest.Problem{Status: http.StatusUnprocessableEntity, Code: "cannot_match", Title: "Cannot match",
		Detail: detail}
}
