package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// LoginRequest is a player who wants to enter the game, and what decides which valve lets the player in.
type LoginRequest struct {
	Region, Build string // "": not known
	Player        string
	IsStaff       bool // the caller vouches that the player is staff; counts when the player gets a place
}

// Login is whether a player may enter.
type Login struct {
	ValveName string // the valve that decides; "": none limits
	// WaitingPlace is where the player waits; nil: the player is admitted, while in the game and for five minutes more.
	WaitingPlace *fault.LoginPlace

	readAt time.Time // by this replica: when the row was last read
}

// EnterLoginQueue admits a player, or gives the player a place in the line, which is kept until five minutes after the
// last call for the player. A player with a place keeps it. Errors: TooMany, "login_queue_full"; Elsewhere;
// Unavailable.
func (s *Store) EnterLoginQueue(ctx context.Context, r LoginRequest) (Login, error) {
	return s.login(ctx, r, admissionRequest{playerSubs: []string{r.Player}, joiningCount: 1, isStaff: r.IsStaff})
}

// RenewLogin keeps the admission or the place of a player for five minutes more, and returns it. Errors: NotFound,
// "not_in_login_queue", for a player with neither; Elsewhere; Unavailable.
func (s *Store) RenewLogin(ctx context.Context, r LoginRequest) (Login, error) {
	return s.login(ctx, r, admissionRequest{playerSubs: []string{r.Player}})
}

// login asks for the admission of one player.
func (s *Store) login(ctx context.Context, r LoginRequest, request admissionRequest) (Login, error) {
	if err := s.CheckHere(r.Region); err != nil {
		return Login{}, err
	}
	line, err := s.DecidingLine(ctx, r.Region, r.Build)
	if err != nil || line == nil {
		return Login{}, err
	}
	now := time.Now()
	admissions, err := s.batchGroups.admissions.Do(ctx, line.row.Name, request)
	if err != nil {
		return Login{}, err
	}
	l := Login{ValveName: line.row.Name, readAt: now}
	player := admissions[0]
	switch {
	case player.isAdmitted:
		return l, nil
	case player.isKnown:
		l.WaitingPlace = line.place(player.placeNumber, player.isStaff)
		return l, nil
	case request.joiningCount > 0:
		// The player asked for a place and got none.
		return Login{}, s.refuseFull(ctx, r.Region, r.Build, line)
	default:
		return Login{}, fault.New(fault.NotFound, "not_in_login_queue",
			"the player has no place in the login queue %s, or was away for too long", line.row.Name)
	}
}

// renewPlaceAfter is how old the last answer of a follower gets before FollowLogin renews the place, which would end
// after five minutes.
const renewPlaceAfter = time.Minute

// FollowLogin is RenewLogin for a caller that asks every second for a player who waits: known is the last answer. It
// calls RenewLogin when the line may have come to the player, when another valve decides, and after a minute; in
// between it computes the place from this replica's copy of the line. Errors: those of RenewLogin.
func (s *Store) FollowLogin(ctx context.Context, r LoginRequest, known Login) (Login, error) {
	if err := s.CheckHere(r.Region); err != nil {
		return Login{}, err
	}
	line, err := s.DecidingLine(ctx, r.Region, r.Build)
	if err != nil || line == nil {
		return Login{}, err
	}
	place := known.WaitingPlace
	if place == nil || line.row.Name != known.ValveName || line.mayHavePassed(place.Number, place.IsStaff) ||
		time.Since(known.readAt) > renewPlaceAfter {
		return s.RenewLogin(ctx, r)
	}
	known.WaitingPlace = line.place(place.Number, place.IsStaff)
	return known, nil
}

// LeaveLoginQueue gives back the place or the admission of a player; left is false for a player with neither. Errors:
// Elsewhere; Unavailable.
func (s *Store) LeaveLoginQueue(ctx context.Context, r LoginRequest) (left bool, err error) {
	if err := s.CheckHere(r.Region); err != nil {
		return false, err
	}
	line, err := s.DecidingLine(ctx, r.Region, r.Build)
	if err != nil || line == nil {
		return false, err
	}
	admissions, err := s.batchGroups.admissions.Do(ctx, line.row.Name,
		admissionRequest{playerSubs: []string{r.Player}, isLeaving: true})
	if err != nil {
		return false, err
	}
	return admissions[0].isKnown, nil
}
