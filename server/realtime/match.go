package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	defaultMatchType = "counter_room"
	defaultMatchSize = 2
	maxMatchSize     = 16
)

// matchmakingRPCs returns the RPCs of the queue. Those of a session run one after the other: the last decides.
func matchmakingRPCs() map[string]rpc {
	return map[string]rpc{
		"matchmaking.enqueue": runInOrder(enqueueSession),
		"matchmaking.dequeue": runInOrder(dequeueSession),
		"match.accept":        runInOrder(answerCheck(true)),
		"match.decline":       runInOrder(answerCheck(false)),
		"match.resolve":       runInOrder(resolveMatchSeat),
	}
}

// enqueueSession puts the session into the queue.
func enqueueSession(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	roomType, failed := e.RoomType(defaultMatchType)
	if failed != nil {
		return rpcAnswer{}, failed
	}
	q := lobby.Queue{RoomType: roomType,
		// Clamped and not refused, as Nexis does it.
		MatchSize: wire.ClampInteger(e.PayloadFields()["size"], defaultMatchSize, defaultMatchSize, maxMatchSize)}
	if v := e.PayloadFields()["attributes"]; v != nil {
		q.Attributes = wire.RawJSON(v)
	}
	if v := e.PayloadFields()["latencies"]; v != nil {
		if q.Latencies, failed = latenciesOf(wire.RawJSON(v)); failed != nil {
			return rpcAnswer{}, failed
		}
	}
	// Counted before and after the call: news that the hub began to read before either are about the former ticket, and
	// are ignored.
	c.hub.CountEnqueue(c)
	defer c.hub.CountEnqueue(c)
	queued, err := c.server.store.EnqueueRealtime(ctx, db.RealtimeEnqueueRequest{
		Region: c.region, ProjectID: c.project, Session: c.sessionEpoch, Player: c.player, Queue: q,
	})
	if err != nil {
		return rpcAnswer{}, err
	}
	return rpcAnswer{P: map[string]any{"queued": true, "room_type": roomType, "size": queued.MatchSize,
		"position": queued.QueuePosition}}, nil
}

// dequeueSession takes the session, and the members of the room that queued with it, out of the queue.
func dequeueSession(ctx context.Context, c *conn, _ wire.Envelope) (rpcAnswer, error) {
	removed, err := c.server.store.DequeueRealtime(ctx, db.RealtimeDequeueRequest{
		Region: c.region, ProjectID: c.project, Session: c.sessionEpoch, Player: c.player,
	})
	return rpcAnswer{P: map[string]any{"removed": removed}}, err
}

// answerCheck answers the ready check of the match in which the session's ticket is.
func answerCheck(accept bool) func(context.Context, *conn, wire.Envelope) (rpcAnswer, error) {
	return func(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
		asked, failed := e.MatchID()
		if failed != nil {
			return rpcAnswer{}, failed
		}
		// The answer has to name the player as the ticket does, which is not always the player of this connection.
		waiting, err := c.server.store.RealtimeTicket(ctx, c.region, c.sessionEpoch.ID)
		if err != nil {
			return rpcAnswer{}, err
		}
		check, err := c.server.store.AnswerReadyCheck(ctx, waiting.Universe, db.ReadyCheckAnswer{
			TicketID: waiting.TicketID, PlayerSub: waiting.PlayerSub, MatchID: asked, Accept: accept,
		})
		return rpcAnswer{P: map[string]any{"done": check.IsDone}}, err
	}
}
