package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// mountPlayers mounts what players call.
func (s *Server) mountPlayers(gate *rest.Gate, failures *rest.Limiter) error {
	o := s.options
	verify, err := o.accessVerifier()
	if err != nil {
		return err
	}
	auth := []gin.HandlerFunc{rest.RequireBearer(verify, failures), rest.LimitCaller(rest.NewLimiter(o.CallerRate))}
	shortCalls := s.apiEngine.Group("", o.middlewares(gate, auth...)...)
	waitingCalls := s.apiEngine.Group("",
		slices.Concat([]gin.HandlerFunc{gate.RefuseWhenFull}, auth, []gin.HandlerFunc{rest.AllowWaiting})...)
	play.Mount(shortCalls, o.Store, o.Keys, o.ConnectMinter, o.Modes, o.partyRules())
	s.mountTickets(shortCalls, waitingCalls)
	play.MountLoginQueue(shortCalls, waitingCalls, s.loginRoutes())
	return nil
}

// mountTickets mounts the routes of tickets.
func (s *Server) mountTickets(shortCalls, waitingCalls gin.IRouter) {
	here := s.options.requireHere()
	play.MountTickets(shortCalls.Group("", here), waitingCalls.Group("", here), s.ticketRoutes())
}

// shareTicketHub returns the hub that wakes calls which wait for tickets, of players and of backends. The first call
// makes it.
func (s *Server) shareTicketHub() *watch.Hub {
	o := s.options
	if s.ticketHub == nil {
		s.ticketHub = watch.New(o.Store, o.universeName(), o.MaxWaiters, o.Log, panics.New(o.Log, nil))
	}
	return s.ticketHub
}

// ticketRoutes returns the configuration of the routes of tickets.
func (s *Server) ticketRoutes() play.Tickets {
	o := s.options
	return play.Tickets{
		Store: readyChecks{o.Store}, Profiles: play.NewLiveProfiles(o.Store, o.universeName()), Hub: s.shareTicketHub(),
		Region: o.universeName(), CheckHere: o.Store.CheckHere, Parties: o.partyRules(), ForOthers: o.OpenMatch != nil,
		Lease: max(o.TicketLease, 0), CallTimeout: o.CallTimeout, Stopping: s.stopping,
	}
}

// loginRoutes returns the configuration of the routes of the login queue.
func (s *Server) loginRoutes() play.LoginQueue {
	o := s.options
	return play.LoginQueue{Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping}
}

// partyRules says whom players may take into a party.
func (o Options) partyRules() play.Parties {
	return play.Parties{Store: o.Store, Region: o.universeName(), AreOpen: o.OpenParties}
}

// readyChecks is the store as play.TicketStore: it leaves out the outcome of an answer to a ready check, because the
// face reads the ticket next.
type readyChecks struct{ *db.Store }

// AnswerReadyCheck implements play.TicketStore.
func (r readyChecks) AnswerReadyCheck(ctx context.Context, region string, answer db.ReadyCheckAnswer) error {
	_, err := r.Store.AnswerReadyCheck(ctx, region, answer)
	return err
}

// accessVerifier returns the function that verifies access tokens and returns their sub. A key set that cannot be read
// makes it return fault.Unavailable, since the token may be valid.
func (o Options) accessVerifier() (func(ctx context.Context, raw string) (string, error), error) {
	// Tokens expire by the database's clock, so that all replicas decide alike.
	o.Access.Now = o.Store.Now
	access, err := token.NewAccessVerifier(o.Access)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, raw string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, o.CallTimeout) // Verify may have to fetch the key set first.
		defer cancel()
		claims, err := access.Verify(ctx, raw)
		if errors.Is(err, token.ErrKeysUnavailable) {
			return "", &fault.Error{
				Kind: fault.Unavailable, Code: "unavailable", Detail: "access tokens cannot be verified now",
				RetryAfter: time.Second, Err: err,
			}
		}
		return claims.Subject, err
	}, nil
}
