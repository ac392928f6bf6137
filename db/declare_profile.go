package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/profile"
)

func (d *Declaration) declareProfiles(ctx context.Context, q *query.Queries,
	texts []*profileText) (done []ProfileOutcome, err error) {
	declaredNames := map[string]bool{}
	for i, text := range texts {
		one, err := d.declareProfile(ctx, q, d.Profiles[i], text)
		if err != nil {
			return nil, atIndex("profiles", i, err)
		}
		declaredNames[one.Declared.Name] = true
		done = append(done, one)
	}
	if !d.Prune.Profiles {
		return done, nil
	}
	pruned, err := d.pruneProfiles(ctx, q, declaredNames)
	return append(done, pruned...), err
}

func (d *Declaration) declareProfile(ctx context.Context, q *query.Queries, declared DeclaredProfile,
	text *profileText) (done ProfileOutcome, err error) {
	// Parsed for its name. checkDeclaration has checked the document, before the transaction.
	p, err := profile.Parse(declared.Document)
	if err != nil {
		return done, err
	}
	edit := ProfileEdit{Universe: d.Universe, Name: p.Name, Author: d.Author, Reason: d.Reason,
		Expected: declared.ExpectedVersion}
	if done, err = lockAndReadLive(ctx, q, edit); err != nil {
		return done, err
	}
	decision := text.asLive()
	if declared.AsShadow {
		decision = text.asShadow()
	}
	if done.Declared, err = edit.change(ctx, q, decision); err != nil {
		return done, err
	}
	switch {
	case !done.Declared.Changed:
		done.Change = "unchanged"
	// No version was live: the name is new, or its profile is retired.
	case done.FormerVersion == 0:
		done.Change = "created"
	default:
		done.Change = "changed"
	}
	return done, nil
}

// lockAndReadLive locks the profiles, and returns the live version of one before a change.
func lockAndReadLive(ctx context.Context, q *query.Queries, edit ProfileEdit) (before ProfileOutcome, err error) {
	if err := q.LockProfiles(ctx, edit.Universe); err != nil {
		return before, err
	}
	live, err := q.GetProfileVersion(ctx, query.GetProfileVersionParams{Region: edit.Universe, Name: edit.Name})
	if errors.Is(err, pgx.ErrNoRows) {
		return before, nil
	}
	if err != nil {
		return before, err
	}
	// A retired profile has no live version: a declaration creates it anew.
	if live.RetiredAt != nil {
		return before, nil
	}
	return ProfileOutcome{FormerDocument: live.Document, FormerVersion: int(live.Version)}, nil
}

// pruneProfiles retires the profiles that nothing declares and that no ticket waits for: a file that is gone must not
// cancel the tickets of players.
func (d *Declaration) pruneProfiles(ctx context.Context, q *query.Queries,
	declaredNames map[string]bool) (done []ProfileOutcome, err error) {
	// Locked before they are listed, so that none is added meanwhile.
	if err := q.LockProfiles(ctx, d.Universe); err != nil {
		return nil, err
	}
	live, err := q.ListProfiles(ctx, query.ListProfilesParams{Region: d.Universe})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range live {
		// The profiles of the realtime lobby are built in, so that no file declares them.
		if !declaredNames[p.Name] && !IsRealtimeProfile(p.Name) {
			names = append(names, p.Name)
		}
	}
	counted, err := q.CountTicketsOfProfiles(ctx, query.CountTicketsOfProfilesParams{Region: d.Universe, Names: names})
	if err != nil {
		return nil, err
	}
	ticketCounts := map[string]int{}
	for _, c := range counted {
		ticketCounts[c.Profile] = int(c.Tickets)
	}
	for _, name := range names {
		one, err := d.pruneProfile(ctx, q, name, ticketCounts[name])
		if err != nil {
			return nil, err
		}
		done = append(done, one)
	}
	return done, nil
}

// pruneProfile retires a profile, unless tickets wait for it.
func (d *Declaration) pruneProfile(ctx context.Context, q *query.Queries, name string,
	ticketCount int) (done ProfileOutcome, err error) {
	edit := ProfileEdit{Universe: d.Universe, Name: name, Author: d.Author, Reason: d.Reason}
	if done, err = lockAndReadLive(ctx, q, edit); err != nil {
		return done, err
	}
	done.Declared.Name, done.Declared.Version = name, done.FormerVersion
	if ticketCount > 0 {
		done.Change = "kept"
		done.Reason = fmt.Sprintf("tickets wait for it (%d): 'director profiles retire %s' cancels those that name no "+
			"other profile", ticketCount, name)
		return done, nil
	}
	done.Change = "retired"
	done.Declared, err = edit.change(ctx, q, profileDecision{decide: edit.retire})
	return done, err
}
