package server

import (
	"cmp"
	"context"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/server/play"
)

// universe returns the region of the queue.
func (o Options) universe() string {
	if o.OpenMatch != nil {
		return cmp.Or(o.OpenMatch.Region, o.Universe, "global")
	}
	return cmp.Or(o.Universe, "global")
}

// mountTickets mounts the routes of tickets, and makes the hub that wakes calls which wait.
func (s *Server) mountTickets(short, lasting gin.IRouter) {
	o := s.options
	s.hub = watch.New(o.Store, o.universe(), o.MaxWaiters, o.Log, panics.New(o.Log, nil))
	play.MountTickets(short, lasting, play.Tickets{
		Store: readyChecks{o.Store}, Profiles: play.NewLiveProfiles(o.Store, o.universe()), Hub: s.hub, Region: o.universe(), ForOthers: o.OpenMatch != nil,
		Lease: max(o.TicketLease, 0), CallTimeout: o.CallTimeout, Stopping: s.stopping,
	})
}

// readyChecks is a store whose answer to a player of a ready check is the ticket, which the face reads next.
type readyChecks struct{ *db.Store }

// AnswerReadyCheck implements play.TicketStore.
func (r readyChecks) AnswerReadyCheck(ctx context.Context, region string, answer db.ReadyCheckAnswer) error {
	_, err := r.Store.AnswerReadyCheck(ctx, region, answer)
	return err
}
