package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// LoginRequest is a player before the title, and the valve that it passes.
type LoginRequest struct {
	Region, Build string // "": not known
	Player        string
	IsStaff       bool // the caller vouches for it; it counts when the player gets a place
}

// Login is whether a player may enter.
type Login struct {
	ValveName string // that decides; "": none limits
	// WaitingPlace is where the player waits; nil: it is admitted, for as long as it is in and five minutes more.
	WaitingPlace *fault.LoginPlace

	readAt time.Time // by this replica: when the row was last read
}

// EnterLoginQueue admits a player, or gives it a place in the line, which it keeps until five minutes after the last
// call for it. A player with a place keeps that. Errors: TooMany, "login_queue_full";
// Elsewhere; Unavailable.
func (s *Store) EnterLoginQueue(ctx context.Context, r LoginRequest) (Login, error) {
	return s.login(ctx, r, admissionRequest{playerSubs: []string{r.Player}, joiningCount: 1, isStaff: r.IsStaff})
}

// ReadLogin returns whether a player is admitted, or its place, and keeps both. Errors: NotFound, "not_in_login_queue",
// for a player with neither; Elsewhere; Unavailable.
func (s *Store) ReadLogin(ctx context.Context, r LoginRequest) (Login, error) {
	return s.login(ctx, r, admissionRequest{playerSubs: []string{r.Player}})
}

func (s *Store) login(ctx context.Context, r LoginRequest, asked admissionRequest) (Login, error) {
	if err := s.CheckHere(r.Region); err != nil {
		return Login{}, err
	}
	line, err := s.LoginLine(ctx, r.Region, r.Build)
	if err != nil || line == nil {
		return Login{}, err
	}
	now := time.Now()
	got, err := s.batchGroups.admissions.Do(ctx, line.row.Name, asked)
	if err != nil {
		return Login{}, err
	}
	l := Login{ValveName: line.row.Name, readAt: now}
	switch {
	case got[0].isAdmitted:
		return l, nil
	case got[0].isKnown:
		l.WaitingPlace = line.place(got[0].placeNumber, got[0].isStaff)
		return l, nil
	// It has asked for a place and got none.
	case asked.joiningCount > 0:
		return Login{}, s.refuseFull(ctx, r.Region, r.Build, line)
	default:
		return Login{}, fault.New(fault.NotFound, "not_in_login_queue",
			"the player has no place in the login queue %s, or was away for too long", line.row.Name)
	}
}

// FollowLogin is ReadLogin for a caller that asks every second for a player who waits: known is the last answer. It
// reads the database only where the line has come to the player, and once a minute to keep the place. Errors: those of
// ReadLogin.
func (s *Store) FollowLogin(ctx context.Context, r LoginRequest, known Login) (Login, error) {
	if err := s.CheckHere(r.Region); err != nil {
		return Login{}, err
	}
	line, err := s.LoginLine(ctx, r.Region, r.Build)
	switch {
	case err != nil || line == nil:
		return Login{}, err
	case known.WaitingPlace == nil || line.row.Name != known.ValveName ||
		line.mayHavePassed(known.WaitingPlace.Number, known.WaitingPlace.IsStaff) ||
		time.Since(known.readAt) > time.Minute:
		return s.ReadLogin(ctx, r)
	}
	known.WaitingPlace = line.place(known.WaitingPlace.Number, known.WaitingPlace.IsStaff)
	return known, nil
}

// LeaveLoginQueue gives back a player's place or admission; left is false where it had neither. Errors: Elsewhere;
// Unavailable.
func (s *Store) LeaveLoginQueue(ctx context.Context, r LoginRequest) (left bool, err error) {
	if err := s.CheckHere(r.Region); err != nil {
		return false, err
	}
	line, err := s.LoginLine(ctx, r.Region, r.Build)
	if err != nil || line == nil {
		return false, err
	}
	got, err := s.batchGroups.admissions.Do(ctx, line.row.Name,
		admissionRequest{playerSubs: []string{r.Player}, isLeaving: true})
	return err == nil && got[0].isKnown, err
}
