package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/query"
)

// PauseProfile pauses a profile: until it is resumed, it makes no matches, and its tickets keep their place. It calls
// ops.pause_profile: a second pause with another reason changes the reason. Errors: NotFound; Conflict, for a retired
// profile and for another live version than the expected one; Unavailable.
func (s *Store) PauseProfile(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changePause(ctx, edit, func(q *query.Queries) (bool, error) {
		return q.OpsPauseProfile(ctx, query.OpsPauseProfileParams{Universe: edit.Universe, Profile: edit.Name,
			Reason: edit.Reason})
	})
}

// ResumeProfile ends the pause of a profile by ops.resume_profile. Errors: NotFound; Conflict, for another live version
// than the expected one; Unavailable.
func (s *Store) ResumeProfile(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changePause(ctx, edit, func(q *query.Queries) (bool, error) {
		return q.OpsResumeProfile(ctx, query.OpsResumeProfileParams{Universe: edit.Universe, Profile: edit.Name})
	})
}

// changePause calls a function of schema ops, unless another version is live than the author expects.
func (s *Store) changePause(
	ctx context.Context, edit ProfileEdit, change func(*query.Queries) (bool, error),
) (done ProfileChange, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		// Under the lock, so that the version that the author has seen is still the live one.
		was, err := lockProfile(ctx, q, edit)
		if err != nil {
			return err
		}
		done = ProfileChange{Name: edit.Name, Version: was.liveVersion}
		done.Changed, err = act.CallAs(ctx, q, edit.Author, edit.Reason, change)
		return err
	})
	if err != nil {
		return ProfileChange{}, act.Refusal(err)
	}
	if done.Changed {
		s.Notify(TopicProfiles, edit.Universe)
	}
	return done, nil
}
