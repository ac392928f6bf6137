package explainer

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

const (
	// maxExplained bounds the profiles of an explanation: as many as a ticket of our API may ask for.
	maxExplained = ticketbody.MaxProfiles
	// maxRead bounds the profiles that are read for a ticket that asks for none, and for a survey.
	maxRead = 200
)

// askedProfiles returns the profiles that a ticket asks for, or for a ticket that asks for none those with a pool, at
// most maxExplained, and the names of those that are left out.
func (r *Reader) askedProfiles(ctx context.Context,
	t *match.Ticket) (asked []explain.Asked, leftOut []string, err error) {
	if len(t.Profiles) > 0 {
		return r.namedProfiles(ctx, t.Profiles)
	}
	return r.poolProfiles(ctx, t)
}

func (r *Reader) namedProfiles(ctx context.Context,
	names []string) (asked []explain.Asked, leftOut []string, err error) {
	// A ticket of Open Match names profiles by tags, as many as it likes.
	if len(names) > maxExplained {
		names, leftOut = names[:maxExplained], names[maxExplained:]
	}
	for _, name := range names {
		a, err := r.readProfile(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, a)
	}
	return asked, leftOut, nil
}

// poolProfiles returns the profiles with a pool, first those whose pool admits the ticket. leftOut names further
// profiles whose pool admits it.
func (r *Reader) poolProfiles(ctx context.Context,
	t *match.Ticket) (asked []explain.Asked, leftOut []string, err error) {
	live, err := r.Options.Store.Profiles(ctx, db.ProfileQuery{Universe: r.Options.Universe})
	if err != nil {
		return nil, nil, err
	}
	var others []explain.Asked
	for _, p := range live[:min(len(live), maxRead)] {
		a, err := r.readProfile(ctx, p.Name)
		if err != nil {
			return nil, nil, err
		}
		// Rules do not decide for the profile, or it takes only tickets that name it.
		if a.Profile == nil || a.Profile.Pool == nil {
			continue
		}
		switch {
		case !poolAdmits(a.Profile, t):
			others = append(others, a)
		case len(asked) < maxExplained:
			asked = append(asked, a)
		default:
			leftOut = append(leftOut, a.Name)
		}
	}
	// Where there is room, the explanation also says what keeps the ticket out of other pools.
	return append(asked, others[:min(len(others), maxExplained-len(asked))]...), leftOut, nil
}

// poolAdmits reports whether the profile's pool admits the ticket, whatever else the ticket lacks.
func poolAdmits(p *profile.Profile, t *match.Ticket) bool {
	_, lacks := decide.New(decide.Version{Profile: p}, 0).Candidate(t)
	return !slices.ContainsFunc(lacks, func(l decide.Lack) bool { return l.Why == decide.LacksPool })
}

// readProfile reads the live version of a profile. Where rules do not decide for it, or it cannot be read, Unusable
// says why instead of Profile.
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
