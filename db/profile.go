package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/profile"
)

// ProfileInfo is a profile and the author of its live version.
type ProfileInfo struct {
	Name          string
	LiveVersion   int        // the version that decides
	ShadowVersion int        // the version that only reports what it would decide; 0: none
	VersionCount  int        // the versions are numbered from 1
	RetiredAt     *time.Time // nil: it is not retired
	PausedAt      *time.Time // nil: it is not paused
	PauseReason   string     // may be "", also of a paused one
	Author        string     // of the live version
	Reason        string     // of the live version
	CreatedAt     time.Time  // of the live version
}

// ProfileQuery asks for the profiles of a universe.
type ProfileQuery struct {
	Universe    string
	WithRetired bool // also those that are retired
}

// Profiles returns profiles by name. Errors: Unavailable.
func (s *Store) Profiles(ctx context.Context, list ProfileQuery) ([]ProfileInfo, error) {
	rows, err := s.q.ListProfiles(ctx, query.ListProfilesParams{Region: list.Universe, Retired: list.WithRetired})
	if err != nil {
		return nil, frame.Classify(err)
	}
	all := make([]ProfileInfo, len(rows))
	for i, r := range rows {
		all[i] = ProfileInfo{
			Name: r.Name, LiveVersion: int(r.Live), ShadowVersion: orZero(r.Shadow), VersionCount: int(r.Versions),
			RetiredAt: r.RetiredAt, PausedAt: r.PausedAt, PauseReason: r.PauseReason,
			Author: r.Author, Reason: r.Reason, CreatedAt: r.CreatedAt,
		}
	}
	return all, nil
}

func orZero(p *int32) int {
	if p == nil {
		return 0
	}
	return int(*p)
}

// ProfileVersion is one version of a profile.
type ProfileVersion struct {
	Name      string
	Version   int
	Document  string // as its author wrote it; "" in lists
	Author    string
	Reason    string
	CreatedAt time.Time

	// Of the profile: LiveVersion and ShadowVersion as in [ProfileInfo]. Not in lists.
	LiveVersion, ShadowVersion int
	RetiredAt                  *time.Time
}

// Profile returns a version of a profile; version 0 is the live one, which a retired profile has as well. Errors:
// NotFound, Unavailable.
func (s *Store) Profile(ctx context.Context, region, name string, version int) (ProfileVersion, error) {
	r, err := s.q.GetProfileVersion(ctx,
		query.GetProfileVersionParams{Region: region, Name: name, Version: int32(version)})
	if errors.Is(err, pgx.ErrNoRows) {
		return ProfileVersion{}, noProfile(name, version)
	}
	if err != nil {
		return ProfileVersion{}, frame.Classify(err)
	}
	return ProfileVersion{
		Name: name, Version: int(r.Version), Document: r.Document, Author: r.Author, Reason: r.Reason,
		CreatedAt: r.CreatedAt, LiveVersion: int(r.Live), ShadowVersion: orZero(r.Shadow), RetiredAt: r.RetiredAt,
	}, nil
}

// ProfileDocuments returns the documents of one version of each profile, by name; versions that do not exist are left
// out. Errors: Unavailable.
func (s *Store) ProfileDocuments(ctx context.Context, region string,
	versions map[string]int) (documents map[string]string, err error) {
	arg := query.ListProfileDocumentsParams{Region: region}
	for name, version := range versions {
		arg.Names = append(arg.Names, name)
		arg.Versions = append(arg.Versions, int32(version))
	}
	rows, err := s.q.ListProfileDocuments(ctx, arg)
	documents = make(map[string]string, len(rows))
	for _, r := range rows {
		documents[r.Name] = r.Document
	}
	return documents, frame.Classify(err)
}

func noProfile(name string, version int) *fault.Error {
	if version == 0 {
		return fault.New(fault.NotFound, "profile_unknown", "there is no profile %q", name)
	}
	return fault.New(fault.NotFound, "profile_unknown", "there is no version %d of a profile %q", version, name)
}

// ProfileVersions returns the versions of a profile without their documents, the latest first. A profile that does not
// exist has none. Errors: Unavailable.
func (s *Store) ProfileVersions(ctx context.Context, region, name string) ([]ProfileVersion, error) {
	rows, err := s.q.ListProfileVersions(ctx, query.ListProfileVersionsParams{Region: region, Name: name})
	if err != nil {
		return nil, frame.Classify(err)
	}
	all := make([]ProfileVersion, len(rows))
	for i, r := range rows {
		all[i] = ProfileVersion{Name: name, Version: int(r.Version), Author: r.Author, Reason: r.Reason,
			CreatedAt: r.CreatedAt}
	}
	return all, nil
}

// parseDeciding parses a document that is to decide, and refuses it where the settings do not allow it. A document that
// is stored already may have been stored under other settings. Errors: *profile.Error; Invalid.
func (s *Store) parseDeciding(document []byte) (*profile.Profile, error) {
	p, err := profile.Parse(document)
	if err != nil {
		return nil, err
	}
	if err := s.checkAccept(p); err != nil {
		return nil, err
	}
	// The operator wants documents that name, for each attribute, whom they trust.
	if s.cfg.RequireFrom {
		if unsaid := profile.ClientsWord(document); len(unsaid) > 0 {
			return nil, &profile.Error{Problems: unsaid}
		}
	}
	return p, nil
}

// checkAccept refuses a ready check that lasts nearly as long as tickets are held for it.
func (s *Store) checkAccept(p *profile.Profile) error {
	const reserve = 10 * time.Second // to commit the match after the last accept
	longest := max(s.cfg.Timing.PendingFor-reserve, 0)
	if p.Accept <= longest {
		return nil
	}
	e := fault.New(fault.Invalid, "invalid",
		"accept.within must be at most %s, 10s less than DIRECTOR_OM_PENDING_FOR", longest)
	e.Field = "accept.within"
	return e
}
