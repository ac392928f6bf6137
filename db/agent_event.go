package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// The kinds of events about agents, rooms and commands. Their instance_id is the agent's id.
const (
	EventAgentJoined    = "agent.joined"
	EventAgentLeft      = "agent.left"
	EventAgentStale     = "agent.stale"
	EventAgentRecovered = "agent.recovered"
	EventRoomCreated    = "room.created"
	EventRoomDestroyed  = "room.destroyed"

	EventAgentDrained    = "agent.drained"
	EventAgentUndrained  = "agent.undrained"
	EventCommandTimedOut = "command.timed_out"
	EventCommandDoneLate = "command.done_late"
)

// AgentEvent is a row of the log about agents or rooms. Tx and ID order the log.
type AgentEvent struct {
	Tx     uint64
	ID     uuid.UUID
	Kind   string // one of agentEventKinds
	Detail []byte // the JSON of an [InstanceInfo] or [RoomInfo]; the keys are in any order
}

// AgentEventPoint is a position in the log: after the events of all transactions below Tx, and after the events of Tx
// up to ID.
type AgentEventPoint struct {
	Tx uint64
	ID uuid.UUID
}

// AgentEventPage is a part of the log.
type AgentEventPage struct {
	Events    []AgentEvent
	NextPoint AgentEventPoint // where the next page begins
	HasMore   bool            // the next page has events now
	// IsHeldBack means that committed events cannot be returned yet, because an older transaction of the server is
	// open. No notification will report them.
	IsHeldBack      bool
	ServerStartedAt time.Time // the start of Postgres; points of another server are not comparable
}

const (
	maxEventPageRows  = 500
	maxEventPageBytes = 1 << 20 // of details as stored (compressed); the row that exceeds it is included
	// AgentEventReach is the age up to which events can be read.
	AgentEventReach = 24 * time.Hour
	// agentEventSlack is the tolerance for transactions that began earlier than their place in the log suggests.
	agentEventSlack = time.Hour
)

// agentEventKinds are the kinds of events that streams of the fleet receive.
var agentEventKinds = []string{EventAgentJoined, EventAgentLeft, EventAgentStale, EventAgentRecovered, EventRoomCreated,
	EventRoomDestroyed}

// AgentEventsEnd returns a page without events, whose NextPoint is the end of the log. Errors: Unavailable.
func (s *Store) AgentEventsEnd(ctx context.Context) (AgentEventPage, error) {
	end, err := s.q.EventHorizon(ctx)
	return AgentEventPage{NextPoint: AgentEventPoint{Tx: end.Horizon}, ServerStartedAt: end.Server}, frame.Classify(err)
}

// AgentEventsAfter returns the events of a region after a point, in the same order for all readers. It returns a
// committed event only after all older transactions of the server have ended, so that no event can later appear before
// it. Errors: Unavailable.
func (s *Store) AgentEventsAfter(ctx context.Context, region string, after AgentEventPoint) (AgentEventPage, error) {
	page, err := readAgentEvents(ctx, s.q, region, after)
	return page, frame.Classify(err)
}

// ReplayAgentEvents is AgentEventsAfter for callers that read many pages. It reads on the connections for large reads,
// which only a few callers get at a time. Errors: TooMany, Unavailable.
func (s *Store) ReplayAgentEvents(ctx context.Context, region string,
	after AgentEventPoint) (page AgentEventPage, err error) {
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		page, err = readAgentEvents(ctx, q, region, after)
		return err
	})
	return page, err
}

func readAgentEvents(ctx context.Context, q *query.Queries, region string,
	after AgentEventPoint) (AgentEventPage, error) {
	var p tx.Pipeline
	var end query.EventHorizonRow
	var rows []query.AgentEventsAfterRow
	var held bool
	reach := AgentEventReach + agentEventSlack
	// Each statement has a snapshot of its own. AgentEventsHeld is the first: if it came after AgentEventsAfter, the
	// older transaction could end between the two, and the page would lack its event without being held back.
	query.Queue(&p, &held, (*query.Queries).AgentEventsHeld,
		query.AgentEventsHeldParams{Region: region, Kinds: agentEventKinds, Reach: reach})
	query.Queue(&p, &end, func(q *query.Queries, ctx context.Context, _ struct{}) (query.EventHorizonRow, error) {
		return q.EventHorizon(ctx)
	}, struct{}{})
	query.Queue(&p, &rows, (*query.Queries).AgentEventsAfter, query.AgentEventsAfterParams{
		Region: region, Tx: after.Tx, ID: after.ID, Kinds: agentEventKinds, Reach: reach, Page: maxEventPageRows,
		Bytes: maxEventPageBytes,
	})
	if err := q.Send(ctx, &p); err != nil {
		return AgentEventPage{NextPoint: after}, err
	}
	page := AgentEventPage{NextPoint: after, IsHeldBack: held, ServerStartedAt: end.Server,
		Events: make([]AgentEvent, 0, len(rows))}
	for _, r := range rows {
		page.Events = append(page.Events, AgentEvent{Tx: r.Tx, ID: r.ID, Kind: r.Kind, Detail: r.Detail})
	}
	if n := len(rows); n > 0 {
		last := rows[n-1]
		page.NextPoint = AgentEventPoint{Tx: last.Tx, ID: last.ID}
		page.HasMore = n == maxEventPageRows || last.Found > int64(n)
	}
	// AgentEventsAfter has seen all transactions below the horizon, since it ran later.
	if !page.HasMore && end.Horizon > page.NextPoint.Tx {
		page.NextPoint = AgentEventPoint{Tx: end.Horizon}
	}
	return page, nil
}

// FindAgentEvent returns an event of the log that is not older than AgentEventReach. Errors: TooMany, Unavailable.
func (s *Store) FindAgentEvent(ctx context.Context, region string,
	at AgentEventPoint) (e AgentEvent, found bool, err error) {
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.AgentEvent(ctx, query.AgentEventParams{Region: region, Tx: at.Tx, ID: at.ID,
			Kinds: agentEventKinds, Reach: AgentEventReach})
		if err != nil || len(rows) == 0 {
			return err
		}
		e, found = AgentEvent(rows[0]), true
		return nil
	})
	return e, found, err
}
