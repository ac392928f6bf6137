package play

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// LoginStore is the part of db.Store that the routes of the login queue call.
type LoginStore interface {
	EnterLoginQueue(ctx context.Context, r db.LoginRequest) (db.Login, error)
	RenewLogin(ctx context.Context, r db.LoginRequest) (db.Login, error)
	FollowLogin(ctx context.Context, r db.LoginRequest, known db.Login) (db.Login, error)
	LeaveLoginQueue(ctx context.Context, r db.LoginRequest) (left bool, err error)
}

// LoginQueue configures the routes of the login queue. Store is required.
type LoginQueue struct {
	Store LoginStore
	// MaxWaiters bounds the calls that wait, of players and of backends; 0 means 32,768.
	MaxWaiters int
	// CallTimeout bounds each reading of a call that waits; 0 means 900 ms.
	CallTimeout time.Duration
	// Stopping ends calls that wait when it is closed; nil: never.
	Stopping <-chan struct{}

	lookEvery time.Duration // between two looks at a place; 0 means 1 s
	beatEvery time.Duration // between two comments of a stream; 0 means 15 s
}

// loginFace is the face of players, or of backends that ask for players.
type loginFace struct {
	queue        LoginQueue
	waitingCalls *atomic.Int64
	isBackend    bool
}

func newLoginFace(q LoginQueue) loginFace {
	q.MaxWaiters = defaultTo(q.MaxWaiters, 32_768)
	q.CallTimeout = defaultTo(q.CallTimeout, 900*time.Millisecond)
	q.lookEvery, q.beatEvery = defaultTo(q.lookEvery, time.Second), defaultTo(q.beatEvery, 15*time.Second)
	return loginFace{queue: q, waitingCalls: new(atomic.Int64)}
}

func defaultTo[T int | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// loginRequest says which valve a player passes.
type loginRequest struct {
	Region string `json:"region"`
	Staff  bool   `json:"staff"` // of a backend only
}

// Validate implements rest.Validator.
func (r *loginRequest) Validate(c *rest.Check) {
	if r.Region != "" {
		c.Match("region", r.Region, rest.Region)
	}
}

// loginAnswer is whether a player may enter.
type loginAnswer struct {
	State string `json:"state"` // admitted or waiting
	Valve string `json:"valve,omitempty"`

	*rest.LoginPlace // nil once it is admitted
}

const (
	stateAdmitted = "admitted"
	stateWaiting  = "waiting"
)

func answerOf(l db.Login) loginAnswer {
	if l.WaitingPlace == nil {
		return loginAnswer{State: stateAdmitted, Valve: l.ValveName}
	}
	return loginAnswer{State: stateWaiting, Valve: l.ValveName, LoginPlace: rest.LoginPlaceOf(l.WaitingPlace)}
}

// clientBuild is the header in which clients name their build.
const clientBuild = "Client-Build"

// buildOf checks the header of the client's build.
func buildOf(header string) (string, error) {
	var c rest.Check
	if header != "" {
		c.Match(clientBuild, header, rest.Build)
	}
	return header, c.Err()
}

// requestInRegion returns the request of a call for the valve of a region: sub is the player in the path, which counts
// only where a backend calls.
func (f loginFace) requestInRegion(ctx context.Context, region, build, sub string) (db.LoginRequest, error) {
	r := db.LoginRequest{Region: region, Player: rest.Caller(ctx)}
	var c rest.Check
	if region != "" {
		c.Match("region", region, rest.Region)
	}
	// A player asks for itself only, whatever the path names.
	if f.isBackend {
		c.Match("sub", sub, rest.Sub)
		r.Player = sub
	}
	if err := c.Err(); err != nil {
		return r, err
	}
	var err error
	r.Build, err = buildOf(build)
	return r, err
}

// requestOf returns the request of a call without a body, whose region is in the query.
func (f loginFace) requestOf(ctx context.Context, in rest.In[rest.None]) (db.LoginRequest, error) {
	return f.requestInRegion(ctx, in.Query("region"), in.Header(clientBuild), in.Param("sub"))
}

// enterQueue admits the player, or gives it a place.
func (f loginFace) enterQueue(ctx context.Context, in rest.In[loginRequest]) (loginAnswer, error) {
	r, err := f.requestInRegion(ctx, in.Body.Region, in.Header(clientBuild), in.Param("sub"))
	if err != nil {
		return loginAnswer{}, err
	}
	// The field counts only from a backend: a player cannot make itself staff.
	r.IsStaff = f.isBackend && in.Body.Staff
	l, err := f.queue.Store.EnterLoginQueue(ctx, r)
	return answerOf(l), err
}

type leftAnswer struct {
	Left bool `json:"left"` // false: there was no place to give back
}

func (f loginFace) leaveQueue(ctx context.Context, in rest.In[rest.None]) (leftAnswer, error) {
	r, err := f.requestOf(ctx, in)
	if err != nil {
		return leftAnswer{}, err
	}
	left, err := f.queue.Store.LeaveLoginQueue(ctx, r)
	return leftAnswer{left}, err
}

// readPlace returns where a player stands.
func (f loginFace) readPlace(ctx context.Context, r db.LoginRequest) (db.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, f.queue.CallTimeout)
	defer cancel()
	return f.queue.Store.RenewLogin(ctx, r)
}

// followPlace returns where a player stands now whose last place is known. While the database cannot be reached it
// returns the known place: nothing has changed as far as this replica knows.
func (f loginFace) followPlace(ctx context.Context, r db.LoginRequest, known db.Login) (db.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, f.queue.CallTimeout)
	defer cancel()
	l, err := f.queue.Store.FollowLogin(ctx, r, known)
	if fault.Is(err, fault.Unavailable) {
		return known, nil
	}
	return l, err
}
