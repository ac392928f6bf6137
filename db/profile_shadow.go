package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// ShadowMatches are matches of which some were decided by the live version of a profile, and the others by its shadow.
type ShadowMatches struct {
	Profile                    string
	LiveVersion, ShadowVersion int
	Sides                      []string // of each match: "live" or "shadow"
	DecidedAt                  []time.Time
	Measures                   []string // of each match: a JSON object of numbers
}

// shadowKept is how many matches of a side a comparison keeps; older ones are deleted.
const shadowKept = 10_000

// RecordShadow adds matches to the comparison of a profile's shadow. It does nothing if the profile now has other
// versions. Errors: Unavailable.
func (s *Store) RecordShadow(ctx context.Context, region string, m ShadowMatches) error {
	return frame.Classify(s.q.RecordShadow(ctx, query.RecordShadowParams{
		Region: region, Profile: m.Profile, Live: int32(m.LiveVersion), Shadow: int32(m.ShadowVersion), Keep: shadowKept,
		Sides: m.Sides, DecidedAt: m.DecidedAt, Measures: m.Measures,
	}))
}

// ShadowProfile makes a stored version the shadow of a profile, which decides beside the live version and commits
// nothing. Version 0 is the latest one. Errors: NotFound; *profile.Error and Invalid, for a document that could not be
// applied now; Conflict for a retired profile or another live version than the expected one; Unavailable.
func (s *Store) ShadowProfile(ctx context.Context, edit ProfileEdit, version int) (ProfileChange, error) {
	decide := func(was profileState) (profileState, string, error) { return edit.shadow(was, version) }
	return s.changeProfile(ctx, edit, profileDecision{decide: decide, isOfShadow: true, parse: s.parseDeciding})
}

func (e ProfileEdit) shadow(was profileState, version int) (profileState, string, error) {
	now := was
	now.shadowVersion = version
	if version == 0 {
		now.shadowVersion = was.latestVersion
	}
	switch {
	case was.liveVersion == 0 || now.shadowVersion > was.latestVersion:
		return was, "", noProfile(e.Name, version)
	case was.isRetired:
		return was, "", retiredProfile(e.Name)
	case now.shadowVersion == was.shadowVersion:
		return was, "", nil
	}
	return now, "profile.shadowed", nil
}

// EndShadow ends the shadow of a profile; a profile without one is no error. The outcome has the live version. Errors:
// NotFound; Conflict for a retired profile or another live version than the expected one; Unavailable.
func (s *Store) EndShadow(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changeProfile(ctx, edit, profileDecision{decide: edit.endShadow})
}

func (e ProfileEdit) endShadow(was profileState) (profileState, string, error) {
	switch {
	case was.liveVersion == 0:
		return was, "", noProfile(e.Name, 0)
	case was.isRetired:
		return was, "", retiredProfile(e.Name)
	case was.shadowVersion == 0:
		return was, "", nil
	}
	now := was
	now.shadowVersion = 0
	return now, "profile.shadow_ended", nil
}
