package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
)

// PauseProfile makes a profile make no matches until it is resumed, within a second. Its tickets keep their place, and matches that were
// decided are played. New versions are applied without an end of the pause. Errors: NotFound; Conflict for a retired profile, or another
// live version than the expected one; Unavailable.
func (s *Store) PauseProfile(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changeProfile(ctx, edit, nil, func(was profileState) (profileState, string, error) {
		now := was
		now.paused = true
		switch {
		case was.live == 0:
			return was, "", noProfile(edit.Name, 0)
		case was.retired:
			return was, "", retiredProfile(edit.Name)
		case was.paused:
			return was, "", nil
		}
		return now, "profile.paused", nil
	})
}

// ResumeProfile ends the pause of a profile: tickets that waited meanwhile are matched. Errors: NotFound, Conflict for another live version than
// the expected one, Unavailable.
func (s *Store) ResumeProfile(ctx context.Context, edit ProfileEdit) (ProfileChange, error) {
	return s.changeProfile(ctx, edit, nil, func(was profileState) (profileState, string, error) {
		now := was
		now.paused = false
		switch {
		case was.live == 0:
			return was, "", noProfile(edit.Name, 0)
		case !was.paused:
			return was, "", nil
		}
		return now, "profile.resumed", nil
	})
}

// writePause writes a change of the pause.
func writePause(ctx context.Context, q *query.Queries, edit ProfileEdit, was, now profileState) error {
	if was.paused == now.paused {
		return nil
	}
	return q.PauseProfile(ctx, query.PauseProfileParams{Region: edit.Region, Name: edit.Name, Paused: now.paused, Reason: edit.Reason})
}
