package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Declaration is what an operator's files declare together: profiles, app versions, pools and projects.
type Declaration struct {
	Region string // of the profiles: the universe of their tickets
	Author string // "": the database login
	Reason string // at most 500 characters; may be ""

	Profiles    []DeclaredProfile
	AppVersions []provision.AppVersion
	Pools       []provision.Pool
	Projects    []NewProject // with their ids; Actor is not read

	Prune  Prune
	DryRun bool // decides as otherwise, with all checks, and writes nothing
}

// DeclaredProfile is a document of a profile.
type DeclaredProfile struct {
	Document []byte
	AsShadow bool // of the live version
	// ExpectedVersion is the live version that the author has seen; see ProfileEdit.
	ExpectedVersion *int
}

// Prune names the kinds of which everything is removed that is not declared, and that nobody uses: profiles are retired
// unless tickets wait for them or they are built in, pools and app versions deleted unless they have servers. The
// director deletes no project; those that are not declared are in the outcome.
type Prune struct{ Profiles, Apps, Pools, Projects bool }

// DeclarationOutcome is what became of a declaration: of each kind what it declares, in its order, then what was pruned
// or kept.
type DeclarationOutcome struct {
	Profiles    []ProfileOutcome
	Provisioned provision.PoolChanges // app versions and pools
	Projects    []ProjectOutcome
}

// ProfileOutcome is what became of a profile.
type ProfileOutcome struct {
	ProfileChange

	FormerDocument string // the document of the version that was live; "" if none was
	FormerVersion  int    // that version; 0: none was live
	Change         string // created, changed, unchanged, retired or kept
	Reason         string // why it was kept
}

// ProjectOutcome is what became of a project.
type ProjectOutcome struct {
	ID, Name, Region string
	FormerName       string // "" for a new one
	Change           string // created, changed, unchanged or kept
	Reason           string // why it was kept
}

// Declare makes everything as it is declared, in one transaction: all of it, or nothing. What is so already is not
// written. Errors: Invalid, Conflict and TooMany, with the path of the value in Field, such as "profiles[1].accept.within",
// "pools[0].modes" or "projects[2].region"; *profile.Error; Unavailable.
func (s *Store) Declare(ctx context.Context, d Declaration) (done DeclarationOutcome, err error) {
	texts, err := s.checkDeclaration(&d)
	if err != nil {
		return done, err
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) (err error) {
		if done, err = s.declare(ctx, q, d, texts); err == nil && d.DryRun {
			// Rolls back all that was written. The outcome says what a declaration without DryRun would do.
			err = errDryRun
		}
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return DeclarationOutcome{}, frame.Classify(err)
	}
	if !d.DryRun {
		s.notifyDeclared(d, done)
	}
	return done, nil
}

// declare decides and writes. Profiles, of which there may be a thousand, come before pools: the loops that scale these
// wait for their rows.
func (s *Store) declare(ctx context.Context, q *query.Queries, d Declaration,
	texts []*profileText) (done DeclarationOutcome, err error) {
	if done.Profiles, err = d.declareProfiles(ctx, q, texts); err != nil {
		return done, err
	}
	if done.Projects, err = d.declareProjects(ctx, q); err != nil || !d.hasPools() {
		return done, err
	}
	pools := provision.Declaration{Apps: d.AppVersions, Pools: d.Pools, PruneApps: d.Prune.Apps,
		PrunePools: d.Prune.Pools}
	edit := provision.PoolEdit{Author: d.Author, Reason: d.Reason}
	done.Provisioned, err = pools.Apply(ctx, q, edit, d.DryRun)
	return done, err
}

func (d *Declaration) hasPools() bool {
	return len(d.AppVersions)+len(d.Pools) > 0 || d.Prune.Apps || d.Prune.Pools
}

// checkDeclaration checks what needs no database, and returns the texts of the profiles.
func (s *Store) checkDeclaration(d *Declaration) (texts []*profileText, err error) {
	if err := checkReason(d.Reason); err != nil {
		return nil, err
	}
	if err := (provision.Declaration{Apps: d.AppVersions, Pools: d.Pools}).Check(); err != nil {
		return nil, err
	}
	for i, p := range d.Projects {
		if err := p.Check(); err != nil {
			return nil, atIndex("projects", i, err)
		}
	}
	for i, p := range d.Profiles {
		// An edit without a name: the document says it.
		text, err := s.checkProfile(&ProfileEdit{}, p.Document)
		if err != nil {
			return nil, atIndex("profiles", i, err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// atIndex prefixes the field of a refusal with the place of its value in the declaration.
func atIndex(list string, i int, err error) error {
	var refused *fault.Error
	// A database that does not answer has nothing to do with the value.
	if !errors.As(err, &refused) || refused.Kind == fault.Unavailable {
		return err
	}
	placed := *refused
	placed.Field = fmt.Sprintf("%s[%d]", list, i)
	if refused.Field != "" {
		placed.Field += "." + refused.Field
	}
	return &placed
}

// notifyDeclared wakes those who use what has changed.
func (s *Store) notifyDeclared(d Declaration, done DeclarationOutcome) {
	if d.hasPools() {
		s.NotifyApplied(done.Provisioned)
	}
	for _, p := range done.Profiles {
		if p.Changed {
			s.Notify(TopicProfiles, d.Region)
			return
		}
	}
}
