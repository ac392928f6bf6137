package orchestrator

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
)

// followTopic calls read after each notification to this replica, and at least each second.
func (r *replica) followTopic(ctx context.Context, name string, read func(context.Context) error) {
	notified, stop := r.server.options.Store.Subscribe(db.TopicReplica(r.id), r.server.options.Region)
	defer stop()
	follow.Loop{
		Name: "agent reader", Every: lookEvery, Timeout: callTimeout, Wakes: follow.Wakes{notified},
		Do: func(ctx context.Context, _ bool) error { return read(ctx) }, Guard: r.server.guard,
		Report: r.server.outageLog.Call(name).Report,
	}.Run(ctx)
}

// readAgents reads the changes that other replicas and workers have made to this replica's agents. If a row may have
// been read before the agent's last own write, it is read again.
func (r *replica) readAgents(ctx context.Context) error {
	// Without agents there are no rows to read.
	if r.sockets.IsEmpty() {
		return nil
	}
	// The moment is taken before the statement: what the lanes record from here on may be newer than what it reads.
	at := r.nextMoment()
	own, err := r.server.options.Store.OwnAgents(ctx, r.server.options.Region, r.id, r.readFrom)
	if err != nil {
		return err
	}
	// Only a complete list proves that an agent which is not in it has no row any more.
	if own.IsComplete {
		r.fenceUnlisted(at, own.Changed)
	}
	next := own.NextTx
	for _, a := range own.Changed {
		s := r.sockets.Get(a.ID)
		if s == nil {
			continue // its connection has ended
		}
		if a.HasLeft {
			s.endFenced()
			continue
		}
		if isTaken := s.takeRow(at, recordOf(a.State)); !isTaken {
			// The position stays, so that the row is read again, after the lane's own write.
			next = r.readFrom
		}
	}
	r.readFrom = next
	return nil
}

// fenceUnlisted closes the connections of agents that joined before at and are not among all agents of the replica:
// their rows are gone.
func (r *replica) fenceUnlisted(at moment, all []db.OwnAgent) {
	listed := make(map[string]bool, len(all))
	for _, a := range all {
		listed[a.ID] = true
	}
	for _, s := range r.sockets.Conns() {
		if !listed[s.agentID] && s.joinedBefore(at) {
			s.endFenced()
		}
	}
}

// pendingPage is how many commands db.Store.PendingCommands returns at most.
const pendingPage = 4096

// sendPending sends the pending commands. The list includes commands that were already sent; a conversation sends each
// command once.
func (r *replica) sendPending(ctx context.Context) error {
	if r.sockets.IsEmpty() {
		return nil // nobody could get a command
	}
	after := uuid.Nil
	for {
		page, err := r.server.options.Store.PendingCommands(ctx, r.server.options.Region, r.id, after)
		if err != nil {
			return err
		}
		for _, c := range page {
			if s := r.sockets.Get(c.AgentID); s != nil {
				s.sendCommand(command{c.ID.String(), string(c.Op), c.RawID, c.RoomType})
			}
		}
		if len(page) < pendingPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}
