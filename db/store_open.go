package db

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/conn"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
)

// Open makes a Store. The database need not be up: connections are made when they are needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	s := &Store{cfg: cfg, clock: clock{pod: cfg.PodClock}, idMint: newIDMint(),
		consoleReads: make(chan struct{}, maxConsoleReads)}
	if err := s.openPools(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.noticeBus, err = s.newBus(); err != nil {
		s.closePools()
		return nil, err
	}
	s.provisioning = provision.New(provision.Options{Frame: s.frame, Notify: s.Notify, Now: s.Now,
		CheckHere: s.CheckHere, VirtualClock: cfg.VirtualClock})
	s.catalogue = newCatalogue(query.New(s.readerPool), cfg.Log)
	s.batchGroups = s.newGroups()
	return s, nil
}

// newGroups makes the groups of a store. A group that moves calls to another one is added before that one, since Drain
// empties the groups in the order in which they were added.
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
	// Calls move from placements to waitingPlacements.
	g.placements = addGroup(s, &g, "placement", placements, s.placeBatch)
	g.waitingPlacements = addGroup(s, &g, "opening", placements, s.openBatch)
	g.seatResolves = addGroup(s, &g, "resolve",
		batch.Limits[resolveRequest]{MaxWeight: 512, CallWeight: batch.One[resolveRequest],
			CallBytes: resolveRequest.bytes},
		s.resolveSeatBatch)
	g.seatReports = addGroup(s, &g, "seats",
		batch.Limits[SeatReport]{MaxWeight: 512, CallWeight: SeatReport.weight, CallBytes: SeatReport.bytes},
		s.reportSeatBatch)
	g.clientLists = addGroup(s, &g, "clients",
		batch.Limits[ClientList]{MaxWeight: 4096, CallWeight: ClientList.weight, CallBytes: ClientList.bytes},
		s.clientsBatch)
	g.newTickets = addGroup(s, &g, "ticket",
		batch.Limits[*ticketDraft]{MaxWeight: 1024, CallWeight: (*ticketDraft).weight, CallBytes: (*ticketDraft).bytes},
		s.createTicketBatch)
	g.ticketReads = addGroup(s, &g, "ticket read", tickets, s.readTicketBatch)
	g.storedPlayers = addGroup(s, &g, "stored player",
		batch.Limits[playersLookup]{MaxWeight: 1024, CallWeight: playersLookup.weight, CallBytes: playersLookup.bytes},
		s.readStoredPlayers)
	g.playerLatencies = addGroup(s, &g, "latencies",
		batch.Limits[playersLookup]{MaxWeight: 1024, CallWeight: playersLookup.weight, CallBytes: playersLookup.bytes},
		s.readLatencies)
	g.ticketDeletes = addGroup(s, &g, "ticket delete", tickets, s.deleteTicketBatch)
	g.playerTickets = addGroup(s, &g, "player ticket",
		batch.Limits[PlayerTicketRequest]{MaxWeight: 512, CallWeight: PlayerTicketRequest.playerRows,
			CallBytes: PlayerTicketRequest.bytes}, s.createPlayerTickets)
	g.playerTicketReads = addGroup(s, &g, "player ticket read",
		batch.Limits[ticketReading]{MaxWeight: 512, CallWeight: batch.One[ticketReading],
			CallBytes: ticketReading.bytes},
		s.seePlayerTickets)
	g.sessionTickets = addGroup(s, &g, "session ticket",
		batch.Limits[sessionTicketRequest]{MaxWeight: 256, CallWeight: batch.One[sessionTicketRequest],
			CallBytes: sessionTicketRequest.bytes}, s.changeSessionTickets)
	g.rosterStates = addGroup(s, &g, "roster state",
		batch.Limits[InstanceRef]{MaxWeight: 256, CallWeight: batch.One[InstanceRef], CallBytes: InstanceRef.bytes},
		s.rosterStateBatch)
	g.admissions = addGroup(s, &g, "admission",
		batch.Limits[admissionRequest]{MaxWeight: 4096, CallWeight: admissionRequest.answerCount,
			CallBytes: admissionRequest.bytes},
		s.decideAdmissions)
	s.addAgentGroups(&g)
	s.addLobbyGroups(&g)
	return g
}

// addAgentGroups adds the groups of Rivalis game servers and their rooms.
func (s *Store) addAgentGroups(g *groups) {
	g.agentChanges = addGroup(s, g, "snapshot",
		batch.Limits[agentChange]{MaxWeight: maxAgentBatchWeight, CallWeight: agentChange.weight, CallBytes: agentChange.bytes},
		s.changeAgents)
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
		batch.Limits[RealtimeRequest]{MaxWeight: 256, CallWeight: batch.One[RealtimeRequest],
			CallBytes: RealtimeRequest.bytes},
		s.openRealtimeBatch)
	g.suspensions = addGroup(s, g, "suspension",
		batch.Limits[suspendRequest]{MaxWeight: suspendedAtOnce, CallWeight: suspendRequest.weight,
			CallBytes: suspendRequest.bytes},
		s.suspendSessions)
	g.mintingKeys = addGroup(s, g, "mint",
		batch.Limits[projectKeyName]{MaxWeight: 1024, CallWeight: batch.One[projectKeyName],
			CallBytes: projectKeyName.bytes}, s.countMintedBatch)
	g.lobbyActions = addGroup(s, g, "lobby",
		batch.Limits[LobbyAction]{MaxWeight: 1024, CallWeight: LobbyAction.weight, CallBytes: LobbyAction.bytes},
		s.lobbyBatch)
}

// addGroup makes a group and adds it to those that Drain waits for. The name is the one in metrics.
func addGroup[Req, Res any](s *Store, g *groups, name string, limits batch.Limits[Req],
	decide batch.Decide[Req, Res]) *batch.Group[Req, Res] {
	made := batch.New(s.batchConfig(), name, limits, decide)
	g.allGroups = append(g.allGroups, made)
	return made
}

// openPools makes the pool of short transactions and the pool of large reads. Neither connects yet.
func (s *Store) openPools(ctx context.Context) error {
	pc, err := poolConfig(s.cfg)
	if err != nil {
		return err
	}
	pc.ConnConfig.OnPgError = s.poolerErrors.watch(pc.ConnConfig.OnPgError)
	rc := pc.Copy()
	rc.AfterConnect = s.cfg.prepareReader
	// Large reads are few and long: a quarter of the connections is enough for them, and most of Postgres is left to
	// the short transactions.
	rc.MaxConns = max(2, s.cfg.MaxConns/4)
	if s.pool, err = conn.OpenPool(ctx, pc); err != nil {
		return fmt.Errorf("database pool: %w", err)
	}
	if s.readerPool, err = conn.OpenPool(ctx, rc); err != nil {
		s.pool.Close()
		return fmt.Errorf("database pool: %w", err)
	}
	s.q = query.New(s.pool)
	s.frame = frame.Frame{Pool: s.pool, Queries: s.q, Hold: s.cfg.transactionHold()}
	return nil
}

func (s *Store) newBus() (*notify.Bus, error) {
	pc, err := pgxpool.ParseConfig(cmp.Or(s.cfg.DirectURL, s.cfg.URL))
	if err != nil {
		// openPools has parsed Config.URL, so that only DirectURL can be wrong.
		return nil, fmt.Errorf("DATABASE_URL_DIRECT: %w", err)
	}
	pc.ConnConfig.ConnectTimeout = connectTimeout
	s.cfg.nameConn(pc.ConnConfig)
	return notify.New(notify.Config{
		SendPayload: s.sendNotice, UrgentTopics: []string{TopicQueue, TopicTicketEvents, TopicRealtime},
		Listen:     pc.ConnConfig,
		OnlyPooler: s.cfg.Pooler != "" && s.cfg.DirectURL == "", Log: s.cfg.Log,
		PrepareConn: func(ctx context.Context, conn *pgx.Conn) error {
			return tx.InitSession(ctx, conn, frame.ListenerTimeouts())
		},
	}), nil
}
