package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// groups are the frequent calls. Calls of one kind that wait at the same time share a transaction. A new group is a
// field here and a line in newGroups.
type groups struct {
	heartbeats        *batch.Group[heartbeat, Alive]
	enrolmentDigests  *batch.Group[EnrolmentID, enrolmentDigest]
	placements        *batch.Group[PlaceRequest, Placement]
	waitingPlacements *batch.Group[PlaceRequest, Placement] // calls that placements has moved here: they wait for locks
	seatResolves      *batch.Group[resolveRequest, Resolved]
	seatReports       *batch.Group[SeatReport, SeatReportResult]
	clientLists       *batch.Group[ClientList, ClientListResult]
	newTickets        *batch.Group[*ticketDraft, Ticket]
	ticketReads       *batch.Group[string, Ticket]
	storedPlayers     *batch.Group[playersLookup, map[string]StoredPlayer]
	playerLatencies   *batch.Group[playersLookup, PlayerLatencies]
	ticketDeletes     *batch.Group[string, struct{}]

	playerTickets     *batch.Group[PlayerTicketRequest, PlayerTicketAnswer]
	playerTicketReads *batch.Group[ticketReading, PlayerTicket]
	sessionTickets    *batch.Group[sessionTicketRequest, sessionTicketAnswer]
	rosterStates      *batch.Group[InstanceRef, RosterState]

	agentChanges    *batch.Group[agentChange, AgentState]
	newRooms        *batch.Group[NewRoom, Command]
	commandOrders   *batch.Group[commandOrder, Command]
	commandAcks     *batch.Group[CommandAck, AgentState]
	commandExpiries *batch.Group[uuid.UUID, CommandAnswer]
	agentReads      *batch.Group[string, InstanceInfo]
	roomReads       *batch.Group[string, RoomInfo]

	admissions *batch.Group[admissionRequest, []admission]

	mintingKeys  *batch.Group[projectKeyName, query.ProjectKey]
	lobbyActions *batch.Group[LobbyAction, LobbyAnswer]

	realtimeOpens *batch.Group[RealtimeRequest, OpenedRealtime]
	suspensions   *batch.Group[suspendRequest, struct{}]

	allGroups []interface {
		Drain(ctx context.Context) error
	}
}

// batchConfig returns the configuration that all groups share.
func (s *Store) batchConfig() batch.Config {
	c := s.cfg
	return batch.Config{
		MaxWaiting: c.MaxWaiting, MaxWaitingBytes: c.MaxWaitingBytes, BatchTimeout: c.BatchTimeout,
		Reconsider: s.holdUntilFlip,
		Observer:   c.Observer,
		Log:        c.Log,
		Errors: batch.Errors{
			IsConflict: frame.IsConflict, IsData: frame.IsDataError, Classify: frame.Classify,
			// Most groups have regions as keys. Of a region between two cells, one transaction refuses a batch of a
			// thousand calls; halves down to single calls would be two thousand, and take longer than the flip.
			IsOfKey:     func(key string, err error) bool { return key != "" && frame.MovingRegion(err) == key },
			Unavailable: func(detail string, cause error) error { return fault.NewUnavailable(detail, cause) },
		},
	}
}

// Drain waits until no grouped call is waiting or being decided, or until ctx ends. Call it when no new calls arrive.
func (s *Store) Drain(ctx context.Context) error {
	for _, g := range s.batchGroups.allGroups {
		if err := g.Drain(ctx); err != nil {
			return err
		}
	}
	return nil
}
