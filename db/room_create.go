package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CreateRoom reserves a room on an agent and inserts the command that creates it. The agent's ack settles the command:
// see [Store.CommandAnswers]. Calls of one region that wait at the same time share a transaction. Errors, in the order
// in which they are checked, with the code: Invalid for an id outside its limits; Conflict, ROOM_EXISTS; Invalid,
// VALIDATION, for two pins; NotFound, INSTANCE_NOT_FOUND; Conflict, INSTANCE_DRAINING; Gone, INSTANCE_DISCONNECTED;
// NoCapacity, NO_CANDIDATE; TooMany, INSTANCE_BUSY; Unavailable, in which case the room may or may not be reserved.
func (s *Store) CreateRoom(ctx context.Context, r NewRoom) (Command, error) {
	if r.RoomID == "" {
		r.RoomID = newRoomID()
	}
	if !validRoomID(r.RoomID) {
		return Command{}, &fault.Error{Kind: fault.Invalid, Code: CodeValidation, Field: "roomId",
			Detail: "an id has 1 to 64 letters, digits, _ and -"}
	}
	return s.batchGroups.newRooms.Do(ctx, r.Region, r)
}

type newRoomCall = batch.Call[NewRoom, Command]

// createRooms handles calls of one region in one transaction. A call stays for the next batch, with a new snapshot, if
// other transactions filled its agent before it could be locked, or if an earlier call of the batch requests the same
// id.
func (s *Store) createRooms(ctx context.Context, region string, calls []*newRoomCall) error {
	orders := newOrders(calls)
	h := roomHosting{region: region}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		h.q = q
		return h.openRooms(ctx, orders)
	})
	if err != nil {
		return err
	}
	// The replicas of the agents send the commands, which they find only after the commit.
	s.notifyReplicas(region, h.replicaIDs(orders))
	for i, o := range orders {
		if o.isDecided() {
			calls[i].Answer(h.outcome(o))
		}
	}
	return nil
}

// maxRoomGroups limits the groups of rooms of one transaction: each needs a search for agents, about 10 ms in a fleet
// of 10,000 agents.
const maxRoomGroups = 8

// newOrders returns an order for each call. Orders that must wait for the next batch are marked isDeferred.
func newOrders(calls []*newRoomCall) []*roomOrder {
	orders := make([]*roomOrder, len(calls))
	ids, hasPlace := map[string]bool{}, map[string]bool{}
	for i, c := range calls {
		o := newRoomOrder(c.Req)
		// The first groups have a place in this transaction. All rooms of a further group wait for the next one.
		if _, known := hasPlace[o.groupKey]; !known {
			hasPlace[o.groupKey] = len(hasPlace) < maxRoomGroups
		}
		o.isDeferred = ids[o.newRoom.RoomID] || !hasPlace[o.groupKey]
		ids[o.newRoom.RoomID] = true
		orders[i] = o
	}
	return orders
}

func (r NewRoom) bytes() int {
	n := textBytes(r.Region, r.Actor, r.Type, r.RoomID, r.SpreadStrategy)
	for _, pin := range []*string{r.InstanceID, r.ProcessUID} {
		if pin != nil {
			n += textBytes(*pin)
		}
	}
	for k, v := range r.RequiredLabels {
		n += textBytes(k, v)
	}
	return n
}
