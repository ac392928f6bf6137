package db

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
)

// Declare makes everything as it is declared, in one transaction: all of it, or nothing. What is as declared already is
// not written. Errors: Invalid, Conflict and TooMany, with the path of the value in Field, such as
// "profiles[1].accept.within", "pools[0].modes" or "projects[2].region"; *profile.Error; Unavailable.
func (s *Store) Declare(ctx context.Context, d Declaration) (done DeclarationOutcome, err error) {
	texts, err := s.checkDeclaration(&d)
	if err != nil {
		return done, err
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) (err error) {
		if done, err = s.declare(ctx, q, d, texts); err != nil {
			return err
		}
		// Rolls back all that was written. The outcome says what a declaration without DryRun would do.
		if d.DryRun {
			return errDryRun
		}
		return nil
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
	if done.Projects, err = d.declareProjects(ctx, q); err != nil {
		return done, err
	}
	// Pools are locked only if there are some to decide about.
	if !d.hasPools() {
		return done, nil
	}
	pools := provision.Declaration{Apps: d.AppVersions, Pools: d.Pools, PruneApps: d.Prune.Apps,
		PrunePools: d.Prune.Pools}
	edit := provision.PoolEdit{Author: d.Author, Reason: d.Reason}
	done.Provisioned, err = pools.Apply(ctx, q, edit, d.DryRun)
	return done, err
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
		_, text, err := s.parseNext("", p.Document)
		if err != nil {
			return nil, atIndex("profiles", i, err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// notifyDeclared wakes those who use what has changed.
func (s *Store) notifyDeclared(d Declaration, done DeclarationOutcome) {
	if d.hasPools() {
		s.NotifyApplied(done.Provisioned)
	}
	for _, p := range done.Profiles {
		// The notice names no profile, so that one is enough for all of them.
		if p.Declared.Changed {
			s.Notify(TopicProfiles, d.Universe)
			return
		}
	}
}
