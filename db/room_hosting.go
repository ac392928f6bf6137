package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// roomHosting reserves rooms on agents within a transaction. The transaction may already hold locks that come before
// agents in the lock order, so other transactions can use it to reserve rooms as well.
type roomHosting struct {
	q      *query.Queries
	region string

	madeRooms []query.ReserveRoomsRow // known once the transaction has committed
}

// openRooms decides orders. It sets the error of refused orders, and queues the statement that reserves the other rooms
// with the commit. First it reads a snapshot; only the snapshot can refuse an order. Then it locks the chosen agents
// and checks them again. If another transaction has filled an order's agent in between, the order stays undecided.
func (h *roomHosting) openRooms(ctx context.Context, orders []*roomOrder) error {
	snapshot, err := h.readSnapshot(ctx, pendingOrders(orders))
	if err != nil {
		return err
	}
	snapshot.refuse(pendingOrders(orders))
	// The refused orders are no longer pending.
	snapshot.deal(pendingOrders(orders))
	chosen := slices.DeleteFunc(pendingOrders(orders), func(o *roomOrder) bool { return o.agentID == "" })
	if err := h.lockHosts(ctx, chosen); err != nil {
		return err
	}
	h.reserve(chosen)
	return nil
}

// readSnapshot reads what the database has for orders: which ids are taken, the agents to which orders are pinned, and
// the candidates of each group.
func (h *roomHosting) readSnapshot(ctx context.Context, orders []*roomOrder) (s hostSnapshot, err error) {
	var out tx.Pipeline
	var ids []string
	hosts := query.RoomHostsParams{Region: h.region}
	for _, o := range orders {
		ids = append(ids, o.newRoom.RoomID)
		// A text that Postgres cannot store names no agent, and would make the statement fail for the other orders.
		if o.newRoom.InstanceID != nil && isStorable(*o.newRoom.InstanceID) {
			hosts.Ids = append(hosts.Ids, *o.newRoom.InstanceID)
		}
		if o.newRoom.ProcessUID != nil && isStorable(*o.newRoom.ProcessUID) {
			hosts.Processes = append(hosts.Processes, *o.newRoom.ProcessUID)
		}
	}
	near := nearbyHosts(orders)
	hosts.Ids = append(hosts.Ids, near.agentIDs...)
	query.Queue(&out, &s.takenIDs, (*query.Queries).TakenRooms, query.TakenRoomsParams{Region: h.region, Ids: ids})
	if len(hosts.Ids)+len(hosts.Processes) > 0 {
		query.Queue(&out, &s.pinnedHosts, (*query.Queries).RoomHosts, hosts)
	}
	s.candidatesByGroup = map[string][]query.RoomCandidatesRow{}
	if len(near.agentIDs) == 0 {
		return s, h.readWholeFleet(ctx, &out, s.candidatesByGroup, orders)
	}
	if err := h.q.Send(ctx, &out); err != nil {
		return s, err
	}
	if near.choose(s.pinnedHosts, s.candidatesByGroup) {
		return s, nil
	}
	// The named agents have too few places, or cannot be compared without the others. choose may have added some.
	clear(s.candidatesByGroup)
	return s, h.readWholeFleet(ctx, new(tx.Pipeline), s.candidatesByGroup, orders)
}

// readWholeFleet sends a pipeline, and with it the statement that reads the candidates of all groups from the whole
// fleet. It adds them to candidates.
func (h *roomHosting) readWholeFleet(ctx context.Context, out *tx.Pipeline,
	candidates map[string][]query.RoomCandidatesRow, orders []*roomOrder) error {
	groups, wanted := groupsOf(orders)
	var rows []query.RoomCandidatesRow
	if len(groups) > 0 {
		wanted.Region = h.region
		query.Queue(out, &rows, (*query.Queries).RoomCandidates, wanted)
	}
	if err := h.q.Send(ctx, out); err != nil {
		return err
	}
	for _, r := range rows {
		candidates[groups[r.Group]] = append(candidates[groups[r.Group]], r)
	}
	return nil
}

// lockHosts locks the chosen agents, and checks the orders again. An order that still fits gets its host.
func (h *roomHosting) lockHosts(ctx context.Context, orders []*roomOrder) error {
	if len(orders) == 0 {
		return nil
	}
	var ids []string
	for _, o := range orders {
		ids = append(ids, o.agentID)
	}
	var out tx.Pipeline
	var rows []query.RoomHostsRow
	var states []query.LockAgentStatesRow
	// Queued before the read of the hosts, which then sees the writes of the last holders of these locks.
	query.Queue(&out, &states, (*query.Queries).LockAgentStates,
		query.LockAgentStatesParams{Region: h.region, Ids: ids})
	query.Queue(&out, &rows, (*query.Queries).RoomHosts, query.RoomHostsParams{Region: h.region, Ids: ids})
	if err := h.q.Send(ctx, &out); err != nil {
		return err
	}
	hosts := map[string]*roomHost{}
	for _, r := range rows {
		hosts[r.ID] = newRoomHost(r)
	}
	for _, o := range orders {
		if host := hosts[o.agentID]; host != nil && host.takes(o) {
			// Counted, so that the next orders are checked against the agent with this room.
			host.agentLoad.roomCount++
			host.agentLoad.inFlight++
			o.host = host
		}
	}
	return nil
}

// reserve queues the statement that reserves the rooms of the orders with a host.
func (h *roomHosting) reserve(orders []*roomOrder) {
	p := query.ReserveRoomsParams{Region: h.region}
	for _, o := range orders {
		if o.host != nil {
			p.Ids = append(p.Ids, o.newRoom.RoomID)
			p.Types = append(p.Types, o.newRoom.Type)
			p.Agents = append(p.Agents, o.host.row.ID)
			p.Replicas = append(p.Replicas, o.host.row.Replica)
			p.Commands = append(p.Commands, o.commandID)
			p.Callers = append(p.Callers, o.newRoom.CallerReplica)
			p.Actors = append(p.Actors, o.newRoom.Actor)
			p.Timeouts = append(p.Timeouts, o.newRoom.Timeout.Seconds())
		}
	}
	if len(p.Ids) > 0 {
		query.Queue(h.q.Deferred(), &h.madeRooms, (*query.Queries).ReserveRooms, p)
	}
}

// outcome returns the result of a decided order in a committed transaction.
func (h *roomHosting) outcome(o *roomOrder) (Command, error) {
	if o.err != nil {
		return Command{}, o.err
	}
	for _, m := range h.madeRooms {
		if m.ID == o.commandID {
			return Command{
				ID: m.ID, Region: h.region, AgentID: o.host.row.ID, ReplicaID: o.host.row.Replica, Op: CommandCreate,
				RoomID: o.newRoom.RoomID, RawID: o.newRoom.RoomID, RoomType: o.newRoom.Type, Deadline: m.Deadline,
			}, nil
		}
	}
	// ReserveRooms left it out: another transaction has taken the id since the snapshot was read.
	return Command{}, roomExists(o.newRoom.RoomID)
}

// replicaIDs returns the replicas that send the commands of orders, some of them several times.
func (h *roomHosting) replicaIDs(orders []*roomOrder) (ids []uuid.UUID) {
	for _, o := range orders {
		if o.host != nil {
			ids = append(ids, o.host.row.Replica)
		}
	}
	return ids
}

// pendingOrders returns the orders that the transaction must decide.
func pendingOrders(orders []*roomOrder) []*roomOrder {
	return slices.DeleteFunc(slices.Clone(orders), func(o *roomOrder) bool { return o.isDeferred || o.err != nil })
}
