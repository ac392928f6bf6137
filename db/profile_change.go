package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/profile"
)

// Bounds of a universe's profiles. Retired ones count, since their versions are kept.
const (
	maxProfiles        = 1000
	maxProfileVersions = 1000
)

// ProfileEdit says which profile changes, who changes it and why.
type ProfileEdit struct {
	Universe string
	Name     string
	Author   string // "": the database login
	Reason   string // at most 500 characters; may be ""
	// Expected is the live version that the author has seen: if another one is live, the change is refused. 0 stands for
	// no profile of this name, or a retired one; nil: the change is made whichever version is live.
	Expected *int
	// DryRun makes the decision with all checks, and writes nothing. Pauses ignore it.
	DryRun bool
}

// ProfileChange is the outcome of a change.
type ProfileChange struct {
	Name    string
	Version int  // the live version after it; after a change of the shadow, the shadow's version
	Changed bool // false: the profile was so before, and nothing was written
}

// profileState is a profile as a change finds it.
type profileState struct {
	liveVersion, shadowVersion, latestVersion int // 0: there is none
	formerVersion                             int // the version below the live one that was live last; 0: there is none
	isRetired                                 bool
	liveText, shadowText                      []byte // canonical
}

// decides reports whether the profile makes matches.
func (s profileState) decides() bool { return s.liveVersion > 0 && !s.isRetired }

// profileText is the document of a new version.
type profileText struct {
	sourceText string
	canonical  []byte
}

// ApplyProfile stores a document as the next version of the profile that it names, and makes that version live. A
// document that means the same as the live version changes nothing. edit.Name may be empty, or the name that the
// document must have. Errors: *profile.Error; Conflict for another live version than the expected one; Invalid for a
// name or a ready check that does not suit; TooMany; Unavailable.
func (s *Store) ApplyProfile(ctx context.Context, edit ProfileEdit, document []byte) (ProfileChange, error) {
	name, next, err := s.parseNext(edit.Name, document)
	if err != nil {
		return ProfileChange{}, err
	}
	edit.Name = name
	return s.changeProfile(ctx, edit, next.asLive())
}

// ApplyShadow is ApplyProfile, but makes the new version the shadow of its profile. Errors: those of ApplyProfile;
// Conflict for a profile that is not live.
func (s *Store) ApplyShadow(ctx context.Context, edit ProfileEdit, document []byte) (ProfileChange, error) {
	name, next, err := s.parseNext(edit.Name, document)
	if err != nil {
		return ProfileChange{}, err
	}
	edit.Name = name
	return s.changeProfile(ctx, edit, next.asShadow())
}

// parseNext parses a document that is to be applied, and returns the name of its profile. Errors: those of
// parseDeciding; Invalid for another name than the expected one; "" expects any.
func (s *Store) parseNext(expectedName string, document []byte) (name string, next *profileText, err error) {
	p, err := s.parseDeciding(document)
	if err != nil {
		return "", nil, err
	}
	if expectedName != "" && expectedName != p.Name {
		e := fault.New(fault.Invalid, "invalid", "the document is of profile %q, not of %q", p.Name, expectedName)
		e.Field = "name"
		return "", nil, e
	}
	return p.Name, &profileText{string(document), p.Canonical()}, nil
}

// profileDecision decides how a profile changes.
type profileDecision struct {
	// decide returns the profile after the change, and the kind of the event; "": nothing changes.
	decide func(was profileState) (now profileState, event string, err error)
	// newText is the document of the new version, if decide makes one.
	newText *profileText
	// isOfShadow: the change is one of the shadow, and not of the live version.
	isOfShadow bool
	// parse refuses the document of a stored version that is to decide; nil: the change names no stored version.
	parse func(document []byte) (*profile.Profile, error)
}

// asLive returns the decision that makes a document the live version.
func (t *profileText) asLive() profileDecision {
	return profileDecision{newText: t, decide: func(was profileState) (profileState, string, error) {
		return was.apply(t.canonical)
	}}
}

// asShadow returns the decision that makes a document the shadow.
func (t *profileText) asShadow() profileDecision {
	return profileDecision{newText: t, isOfShadow: true, decide: func(was profileState) (profileState, string, error) {
		return was.applyShadow(t.canonical)
	}}
}

// apply decides about a document that is to be live: nothing changes if it means the same as the live version.
func (s profileState) apply(canonical []byte) (profileState, string, error) {
	if s.liveVersion > 0 && bytes.Equal(s.liveText, canonical) {
		if !s.isRetired {
			return s, "", nil
		}
		// The same document makes a retired profile decide again, without a new version.
		s.isRetired = false
		return s, "profile.applied", nil
	}
	s.latestVersion++
	s.liveVersion, s.isRetired = s.latestVersion, false
	return s, "profile.applied", nil
}

// applyShadow decides about a document that is to be the shadow: nothing changes if it means the same as the shadow.
func (s profileState) applyShadow(canonical []byte) (profileState, string, error) {
	if !s.decides() {
		return s, "", fault.New(fault.Conflict, "profile_retired",
			"a shadow runs beside a live version, and there is none: apply the document without shadow")
	}
	if s.shadowVersion > 0 && bytes.Equal(s.shadowText, canonical) {
		return s, "", nil
	}
	s.latestVersion++
	s.shadowVersion = s.latestVersion
	return s, "profile.shadowed", nil
}

// RollbackProfile makes a stored version live; version 0 is the one below the live version that was live last, and not
// one that was a shadow only. Errors: NotFound; *profile.Error and Invalid, for a document that could not be applied
// now; Conflict for a retired profile or another live version than the expected one; Unavailable.
func (s *Store) RollbackProfile(ctx context.Context, edit ProfileEdit, version int) (ProfileChange, error) {
	decide := func(was profileState) (profileState, string, error) { return edit.rollBack(was, version) }
	return s.changeProfile(ctx, edit, profileDecision{decide: decide, parse: s.parseDeciding})
}

func (e ProfileEdit) rollBack(was profileState, version int) (profileState, string, error) {
	now := was
	now.liveVersion = version
	if version == 0 {
		now.liveVersion = was.formerVersion
	}
	switch {
	case was.liveVersion == 0:
		return was, "", noProfile(e.Name, 0)
	case was.isRetired:
		return was, "", retiredProfile(e.Name)
	case now.liveVersion < 1:
		return was, "", fault.New(fault.NotFound, "profile_unknown",
			"the live version of profile %q is its first: there is none before it", e.Name)
	case now.liveVersion > was.latestVersion:
		return was, "", noProfile(e.Name, now.liveVersion)
	case now.liveVersion == was.liveVersion:
		return was, "", nil
	}
	return now, "profile.rolled_back", nil
}

func retiredProfile(name string) *fault.Error {
	return fault.New(fault.Conflict, "profile_retired", "profile %q is retired: apply a document to use it again", name)
}

// RetireProfile ends a profile: it makes no matches from now on, and tickets that ask for no other profile leave the
// queue. Its versions are kept. Errors: NotFound, Conflict for another live version than the expected one, Unavailable.
func (s *Store) RetireProfile(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changeProfile(ctx, edit, profileDecision{decide: edit.retire})
}

func (e ProfileEdit) retire(was profileState) (profileState, string, error) {
	switch {
	case was.liveVersion == 0:
		return was, "", noProfile(e.Name, 0)
	case was.isRetired:
		return was, "", nil
	}
	now := was
	// The live version stays: a rollback is refused, and the same document makes it decide again without a new version.
	now.isRetired, now.shadowVersion = true, 0
	return now, "profile.retired", nil
}

// changeProfile runs a change as one transaction.
func (s *Store) changeProfile(ctx context.Context, edit ProfileEdit, decision profileDecision) (ProfileChange, error) {
	if err := checkReason(edit.Reason); err != nil {
		return ProfileChange{}, err
	}
	var done ProfileChange
	err := s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		done, err = edit.change(ctx, q, decision)
		if err == nil && edit.DryRun {
			// Rolls back all that was written. The outcome stays.
			return errDryRun
		}
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return ProfileChange{}, frame.Classify(err)
	}
	if done.Changed && !edit.DryRun {
		s.Notify(TopicProfiles, edit.Universe)
	}
	return done, nil
}

// change reads the profile under the lock, decides, and writes the profile, its new version if there is one, and the
// event.
func (e ProfileEdit) change(ctx context.Context, q *query.Queries, decision profileDecision) (ProfileChange, error) {
	was, err := lockProfile(ctx, q, e)
	if err != nil {
		return ProfileChange{}, err
	}
	now, event, err := decision.decide(was)
	if err != nil {
		return ProfileChange{}, err
	}
	done := ProfileChange{Name: e.Name, Version: now.liveVersion, Changed: event != ""}
	if decision.isOfShadow {
		done.Version = now.shadowVersion
	}
	if !done.Changed {
		return done, nil
	}
	if decision.parse != nil {
		if err := e.checkStored(ctx, q, done.Version, decision.parse); err != nil {
			return ProfileChange{}, err
		}
	}
	return done, writeProfile(ctx, q, e, was, now, decision.newText, event)
}

// checkStored refuses a stored version that could not be applied now: settings may have changed since it was applied.
func (e ProfileEdit) checkStored(ctx context.Context, q *query.Queries, version int,
	parse func(document []byte) (*profile.Profile, error)) error {
	stored, err := q.GetProfileVersion(ctx,
		query.GetProfileVersionParams{Region: e.Universe, Name: e.Name, Version: int32(version)})
	if err != nil {
		return err
	}
	_, err = parse([]byte(stored.Document))
	return err
}

func checkReason(reason string) error {
	if value.ValidReason(reason) {
		return nil
	}
	e := fault.New(fault.Invalid, "invalid", "the reason must have at most %d characters", value.MaxReason)
	e.Field = "reason"
	return e
}

// errDryRun ends a transaction that is not to be committed.
var errDryRun = errors.New("dry run")

// lockProfile reads a profile for a change, and refuses the change if its author has seen another version.
func lockProfile(ctx context.Context, q *query.Queries, edit ProfileEdit) (was profileState, err error) {
	// Changes of the profiles of a universe are made one after the other.
	if err := q.LockProfiles(ctx, edit.Universe); err != nil {
		return was, err
	}
	r, err := q.ProfileForChange(ctx, query.ProfileForChangeParams{Region: edit.Universe, Name: edit.Name})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return was, err
	}
	was = profileState{
		liveVersion: int(r.Live), shadowVersion: orZero(r.Shadow), latestVersion: int(r.Latest),
		formerVersion: int(r.Former), isRetired: r.RetiredAt != nil,
		liveText: r.LiveCanonical, shadowText: r.ShadowCanonical,
	}
	current := was.liveVersion
	// To an author, a retired profile is one that does not exist: a document creates it anew.
	if was.isRetired {
		current = 0
	}
	if edit.Expected != nil && *edit.Expected != current {
		return was, fault.New(fault.Conflict, "profile_changed",
			"the live version of profile %q is %d, not %d: read it again", edit.Name, current, *edit.Expected)
	}
	return was, nil
}

// writeProfile writes the profile as it is after a change, its new version if there is one, and the event.
func writeProfile(ctx context.Context, q *query.Queries, edit ProfileEdit, was, now profileState, next *profileText,
	event string) error {
	if now.latestVersion > was.latestVersion {
		if err := insertProfileVersion(ctx, q, edit, now.latestVersion, next); err != nil {
			return err
		}
	}
	save := query.SaveProfileParams{Region: edit.Universe, Name: edit.Name, Live: int32(now.liveVersion),
		Retired: now.isRetired}
	if now.shadowVersion > 0 {
		shadow := int32(now.shadowVersion)
		save.Shadow = &shadow
	}
	if err := q.SaveProfile(ctx, save); err != nil {
		return err
	}
	// What the shadow has reported so far was compared with another version.
	if now.shadowVersion != was.shadowVersion || now.liveVersion != was.liveVersion {
		if err := q.ForgetShadow(ctx, query.ForgetShadowParams{Region: edit.Universe, Profile: edit.Name}); err != nil {
			return err
		}
	}
	detail := map[string]any{"profile": edit.Name, "version": now.liveVersion}
	if event == "profile.shadowed" {
		detail["version"] = now.shadowVersion
	}
	if was.liveVersion > 0 && was.liveVersion != now.liveVersion {
		detail["before"] = was.liveVersion
	}
	if edit.Reason != "" {
		detail["reason"] = edit.Reason
	}
	text, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	return q.LogProfile(ctx, query.LogProfileParams{Region: edit.Universe, Kind: event, Author: edit.Author,
		Detail: text})
}

func insertProfileVersion(ctx context.Context, q *query.Queries, edit ProfileEdit, version int,
	next *profileText) error {
	if version > maxProfileVersions {
		return fault.New(fault.TooMany, "too_many_profiles",
			"profile %q has %d versions, which is the most: use another name", edit.Name, maxProfileVersions)
	}
	// The first version of a name makes a further profile.
	if version == 1 {
		n, err := q.CountProfiles(ctx, edit.Universe)
		if err != nil {
			return err
		}
		if n >= maxProfiles {
			return fault.New(fault.TooMany, "too_many_profiles",
				"there are %d profiles, which is the most, counting retired ones", maxProfiles)
		}
	}
	return q.InsertProfileVersion(ctx, query.InsertProfileVersionParams{
		Region: edit.Universe, Name: edit.Name, Version: int32(version), Document: next.sourceText,
		Canonical: next.canonical, Author: edit.Author, Reason: edit.Reason,
	})
}
