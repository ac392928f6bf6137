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
	waitingPlacements *batch.Group[PlaceRequest, Placement] // calls of placements that must wait for locks
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

	realtimeOpens *batch.Group[OpenRealtime, OpenedRealtime]
	suspensions   *batch.Group[suspension, struct{}]

	allGroups []interface {
		Drain(ctx context.Context) error
	}
}

// newGroups makes the groups of a store. Those that move calls to another group come before it, since Drain goes
// through them in this order.
func (s *Store) newGroups() (g groups) {
	placements := batch.Limits[PlaceRequest]{MaxWeight: 256, CallWeight: PlaceRequest.players,
		CallBytes: PlaceRequest.bytes}
	tickets := batch.Limits[string]{MaxWeight: 1024, CallWeight: batch.One[string], CallBytes: idBytesOf}
	g.heartbeats = addGroup(s, &g, "heartbeat",
		batch.Limits[heartbeat]{MaxWeight: 2048, CallWeight: batch.One[heartbeat], CallBytes: heartbeat.bytes},
		s.heartbeatBatch)
	g.enrolmentDigests = addGroup(s, &g, "enrolment",
		batch.Limits[EnrolmentID]{MaxWeight: 1024, CallWeight: batch.One[EnrolmentID], CallBytes: EnrolmentID.bytes},
		s.readEnrolments)
	// Calls move from placements to openings, so they are drained in this order.
	g.placements = addGroup(s, &g, "placement", placements, s.placeBatch)
	g.waitingPlacements = addGroup(s, &g, "opening", placements, s.openBatch)
	g.seatResolves = addGroup(s, &g, "resolve",
		batch.Limits[resolveRequest]{MaxWeight: 512, CallWeight: batch.One[resolveRequest],
			CallBytes: resolveRequest.bytes},
		s.resolveBatch)
	g.seatReports = addGroup(s, &g, "seats",
		batch.Limits[SeatReport]{MaxWeight: 512, CallWeight: SeatReport.entries, CallBytes: SeatReport.bytes},
		s.reportBatch)
	g.clientLists = addGroup(s, &g, "clients",
		batch.Limits[ClientList]{MaxWeight: 4096, CallWeight: ClientList.weight, CallBytes: ClientList.bytes},
		s.clientsBatch)
	g.newTickets = addGroup(s, &g, "ticket",
		batch.Limits[*ticketDraft]{MaxWeight: 1024, CallWeight: (*ticketDraft).weight, CallBytes: (*ticketDraft).bytes},
		s.createBatch)
	g.ticketReads = addGroup(s, &g, "ticket read", tickets, s.getBatch)
	g.storedPlayers = addGroup(s, &g, "stored player",
		batch.Limits[playersLookup]{MaxWeight: 1024, CallWeight: playersLookup.weight, CallBytes: playersLookup.bytes},
		s.readStoredPlayers)
	g.playerLatencies = addGroup(s, &g, "latencies",
		batch.Limits[playersLookup]{MaxWeight: 1024, CallWeight: playersLookup.weight, CallBytes: playersLookup.bytes},
		s.readLatencies)
	g.ticketDeletes = addGroup(s, &g, "ticket delete", tickets, s.deleteBatch)
	g.playerTickets = addGroup(s, &g, "player ticket",
		batch.Limits[PlayerTicketRequest]{MaxWeight: 512, CallWeight: PlayerTicketRequest.players,
			CallBytes: PlayerTicketRequest.bytes}, s.createPlayerTickets)
	g.playerTicketReads = addGroup(s, &g, "player ticket read",
		batch.Limits[ticketReading]{MaxWeight: 512, CallWeight: batch.One[ticketReading],
			CallBytes: ticketReading.bytes},
		s.readPlayerTickets)
	g.sessionTickets = addGroup(s, &g, "session ticket",
		batch.Limits[sessionTicketRequest]{MaxWeight: 256, CallWeight: batch.One[sessionTicketRequest],
			CallBytes: sessionTicketRequest.bytes}, s.changeSessionTickets)
	g.rosterStates = addGroup(s, &g, "roster state",
		batch.Limits[InstanceRef]{MaxWeight: 256, CallWeight: batch.One[InstanceRef], CallBytes: InstanceRef.bytes},
		s.rosterStateBatch)
	g.admissions = addGroup(s, &g, "admission",
		batch.Limits[admissionRequest]{MaxWeight: 4096, CallWeight: admissionRequest.players,
			CallBytes: admissionRequest.bytes},
		s.decideAdmissions)
	s.addAgentGroups(&g)
	s.addLobbyGroups(&g)
	return g
}

// addAgentGroups adds the groups of Rivalis game servers and their rooms.
func (s *Store) addAgentGroups(g *groups) {
	g.agentChanges = addGroup(s, g, "snapshot",
		batch.Limits[agentChange]{MaxWeight: heavyBatch, CallWeight: agentChange.weight, CallBytes: agentChange.bytes},
		s.agentBatch)
	g.newRooms = addGroup(s, g, "create",
		batch.Limits[NewRoom]{MaxWeight: 256, CallWeight: batch.One[NewRoom], CallBytes: NewRoom.bytes}, s.createRooms)
	g.commandOrders = addGroup(s, g, "command",
		batch.Limits[commandOrder]{MaxWeight: 256, CallWeight: batch.One[commandOrder], CallBytes: commandOrder.bytes},
		s.sendCommands)
	g.commandAcks = addGroup(s, g, "ack", batch.Limits[CommandAck]{MaxWeight: 512, CallWeight: batch.One[CommandAck],
		CallBytes: CommandAck.bytes}, s.acknowledge)
	g.commandExpiries = addGroup(s, g, "command expiry",
		batch.Limits[uuid.UUID]{MaxWeight: 512, CallWeight: batch.One[uuid.UUID],
			CallBytes: func(uuid.UUID) int { return len(uuid.UUID{}) }}, s.expireCommands)
	g.agentReads = addGroup(s, g, "agent read",
		batch.Limits[string]{MaxWeight: 64, CallWeight: batch.One[string], CallBytes: idBytesOf}, s.findAgents)
	g.roomReads = addGroup(s, g, "room read",
		batch.Limits[string]{MaxWeight: 1024, CallWeight: batch.One[string], CallBytes: idBytesOf}, s.findRooms)
}

// addLobbyGroups adds the groups of the realtime lobby.
func (s *Store) addLobbyGroups(g *groups) {
	g.realtimeOpens = addGroup(s, g, "realtime open",
		batch.Limits[OpenRealtime]{MaxWeight: 256, CallWeight: batch.One[OpenRealtime], CallBytes: OpenRealtime.bytes},
		s.openSessions)
	g.suspensions = addGroup(s, g, "suspension",
		batch.Limits[suspension]{MaxWeight: suspendedAtOnce, CallWeight: suspension.weight,
			CallBytes: suspension.bytes},
		s.suspendSessions)
	g.mintingKeys = addGroup(s, g, "mint",
		batch.Limits[projectKeyName]{MaxWeight: 1024, CallWeight: batch.One[projectKeyName],
			CallBytes: projectKeyName.bytes}, s.countMinted)
	g.lobbyActions = addGroup(s, g, "lobby",
		batch.Limits[LobbyAction]{MaxWeight: 1024, CallWeight: LobbyAction.weight, CallBytes: LobbyAction.bytes},
		s.lobbyBatch)
}

// addGroup makes a group and adds it to those that Drain waits for. The name is the one in metrics.
func addGroup[Req, Res any](s *Store, g *groups, name string, limits batch.Limits[Req],
	decide batch.Decide[Req, Res]) *batch.Group[Req, Res] {
	made := batch.New(s.cfg.batchConfig(), name, limits, decide)
	g.allGroups = append(g.allGroups, made)
	return made
}

// batchConfig returns the configuration that all groups share.
func (c Config) batchConfig() batch.Config {
	return batch.Config{
		MaxWaiting: c.MaxWaiting, MaxWaitingBytes: c.MaxWaitingBytes, BatchTimeout: c.BatchTimeout,
		Observer: c.Observer,
		Log:      c.Log,
		Errors: batch.Errors{
			IsConflict: frame.IsConflict, IsData: frame.IsDataError, Classify: frame.Classify,
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

// The methods named bytes estimate the memory that a waiting request takes: its texts, and the headers that point to
// them.

// headerBytes is the size of a string or slice header, rounded up.
const headerBytes = 24

func textBytes(texts ...string) (n int) {
	for _, t := range texts {
		n += headerBytes + len(t)
	}
	return n
}

func idBytesOf(id string) int { return textBytes(id) }

func (h heartbeat) bytes() int { return textBytes(h.instanceRef.InstanceID) }

func (r InstanceRef) bytes() int { return textBytes(r.InstanceID) }

func (r PlaceRequest) players() int { return len(r.Party) }

func (r PlaceRequest) bytes() int {
	return textBytes(r.Caller, r.Region, r.Mode, r.IdempotencyKey) + len(r.RequestHash) + textBytes(r.Party...)
}

func (r resolveRequest) bytes() int { return textBytes(r.sessionHandle, r.playerSub) }

func (l ClientList) weight() int { return 1 + len(l.ClientIDs) }

func (l ClientList) bytes() int { return textBytes(l.InstanceRef.InstanceID) + 8*len(l.ClientIDs) }

func (r SeatReport) entries() int { return 1 + len(r.JoinedPlayers) + len(r.LeftPlayers) }

func (r SeatReport) bytes() int {
	n := textBytes(r.InstanceRef.InstanceID, r.SessionID)
	for _, j := range r.JoinedPlayers {
		n += textBytes(j.PlayerSub, j.JTI, j.ConnectionName)
	}
	for _, l := range r.LeftPlayers {
		n += textBytes(l.PlayerSub, l.ConnectionName)
	}
	return n
}

// weight bounds a batch of new tickets to about a mebibyte.
func (d *ticketDraft) weight() int { return 1 + len(d.body)/1024 }

// bytes counts the body twice: as the caller sent it, which stays in memory until the answer, and as it is stored.
func (d *ticketDraft) bytes() int {
	const term, double = 16, 24
	return 2*len(d.body) + term*len(d.matchRow.Terms) + double*len(d.matchRow.Doubles)
}
