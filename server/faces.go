package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roomhost"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/backend"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
)

// universeName returns the region of the queue.
func (o Options) universeName() string {
	if o.OpenMatch != nil {
		return cmp.Or(o.OpenMatch.Region, o.Universe, "global")
	}
	return cmp.Or(o.Universe, "global")
}

// mountTickets mounts the routes of tickets.
func (s *Server) mountTickets(short, lasting gin.IRouter) {
	here := s.options.requireHere()
	play.MountTickets(short.Group("", here), lasting.Group("", here), s.ticketRoutes())
}

// ticketRoutes configures the routes of tickets, and makes the hub that wakes calls which wait.
func (s *Server) ticketRoutes() play.Tickets {
	o := s.options
	if s.ticketHub == nil {
		s.ticketHub = watch.New(o.Store, o.universeName(), o.MaxWaiters, o.Log, panics.New(o.Log, nil))
	}
	return play.Tickets{
		Store: readyChecks{o.Store}, Profiles: play.NewLiveProfiles(o.Store, o.universeName()), Hub: s.ticketHub,
		Region: o.universeName(), CheckHere: o.Store.CheckHere, Parties: o.partyRules(), ForOthers: o.OpenMatch != nil,
		Lease: max(o.TicketLease, 0), CallTimeout: o.CallTimeout, Stopping: s.stopping,
	}
}

// loginRoutes configures the routes of the login queue.
func (s *Server) loginRoutes() play.LoginQueue {
	o := s.options
	return play.LoginQueue{Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping}
}

// partyRules says whom players may take into a party.
func (o Options) partyRules() play.Parties {
	return play.Parties{Store: o.Store, Region: o.universeName(), AreOpen: o.OpenParties}
}

// mountBackend mounts what the studio's own services call. They have slots of their own, so that a rush of players
// cannot keep them out.
func (s *Server) mountBackend(failures *rest.Limiter) error {
	o := s.options
	tokens, err := rest.ParseBackendTokens(o.BackendTokens)
	if err != nil {
		return err
	}
	gate := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log)
	forPlayers, forTickets := rest.RequireBackend(tokens, rest.ScopePlayers, failures),
		rest.RequireBackend(tokens, rest.ScopeTickets, failures)
	players := s.apiEngine.Group("", append(o.middlewares(gate, forPlayers), o.requireHere())...)
	backend.Mount(players, o.Store, o.universeName())
	play.MountBackendLoginQueue(players,
		s.apiEngine.Group("", gate.RefuseWhenFull, forPlayers, rest.AllowWaiting, o.requireHere()),
		s.loginRoutes())
	play.MountBackendTickets(s.apiEngine.Group("", append(o.middlewares(gate, forTickets), o.requireHere())...),
		s.apiEngine.Group("", gate.RefuseWhenFull, forTickets, rest.AllowWaiting, o.requireHere()), s.ticketRoutes())
	return nil
}

// readyChecks is a store whose answer to a player of a ready check is the ticket, which the face reads next.
type readyChecks struct{ *db.Store }

// AnswerReadyCheck implements play.TicketStore.
func (r readyChecks) AnswerReadyCheck(ctx context.Context, region string, answer db.ReadyCheckAnswer) error {
	_, err := r.Store.AnswerReadyCheck(ctx, region, answer)
	return err
}

// mountBevygap mounts the routes of bevygap's clients, if the options have them, with the settings that all faces
// share. They stand behind no gate and no deadline, because they wait; the face has limits of its own.
func (s *Server) mountBevygap(failures *rest.Limiter) (err error) {
	o := s.options
	if o.Bevygap == nil {
		return nil
	}
	face := *o.Bevygap
	face.Store, face.Log, face.Metrics = cmp.Or[bevygap.Store](face.Store, o.Store), cmp.Or(face.Log,
		o.Log), cmp.Or(face.Metrics, o.Metrics.Registerer())
	face.FailureLimiter, face.CallerLimiter = cmp.Or(face.FailureLimiter, failures), cmp.Or(face.CallerLimiter,
		rest.NewLimiter(o.CallerRate))
	face.CheckHere = o.Store.CheckHere
	if face.AllowsOrigin == nil {
		face.AllowsOrigin = o.allowsOrigin
	}
	if face.ConnectSeat == nil {
		face.ConnectSeat = o.connectSeat
	}
	if face.OnRefusal == nil {
		face.OnRefusal = s.refusalBook.Record
	}
	if face.VerifyToken == nil && o.Access.Keys != nil {
		if face.VerifyToken, err = o.accessVerifier(); err != nil {
			return err
		}
	}
	if s.bevygap, err = bevygap.New(face); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.bevygap.Mount(s.apiEngine)
	return nil
}

// mountNATS makes what game servers with bevygap's plugin connect to, if the options have it, with the settings that all
// faces share.
func (s *Server) mountNATS(config *tls.Config) (err error) {
	o := s.options
	if o.NATS == nil {
		return nil
	}
	face := *o.NATS
	face.Store, face.ServerTokens, face.TLS = cmp.Or[nats.Store](face.Store, o.Store), cmp.Or(face.ServerTokens,
		o.ServerTokens), cmp.Or(face.TLS, config.Clone())
	face.FailureRate, face.Log, face.Metrics = cmp.Or(face.FailureRate, o.FailureRate), cmp.Or(face.Log,
		o.Log), cmp.Or(face.Metrics, o.Metrics.Registerer())
	if s.nats, err = nats.New(face); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// connectSeat exchanges the handle of a seat for the connect token of its server.
func (o Options) connectSeat(ctx context.Context, handle, sub string) (bevygap.Connection, error) {
	seat, err := o.Store.Resolve(ctx, handle, sub)
	if err != nil {
		return bevygap.Connection{}, err
	}
	ticket, err := o.ConnectMinter.Ticket(seat)
	if err != nil {
		return bevygap.Connection{}, err
	}
	if ticket == nil {
		return bevygap.Connection{}, fmt.Errorf("the server of session %s takes no connect tokens: it is no deployment, but offers a mode of a pool", seat.SessionID)
	}
	return bevygap.Connection{
		Token: ticket.Token.Bytes(), ClientID: ticket.ClientID, IP: ticket.Addr.Addr(), Port: ticket.Addr.Port(),
		CertDigest: ticket.CertDigest,
	}, nil
}

// Projects configures the control API of the realtime lobby. Fields that are zero have the value of the replica.
type Projects struct {
	projects.Options

	Addr     string // "" means 127.0.0.1:3000. Listener, if set, is used instead.
	Listener net.Listener
}

// mountRealtime makes the realtime lobby and its control API, if the options have them, with the settings that all
// faces share.
func (s *Server) mountRealtime(config *tls.Config) (err error) {
	o := s.options
	if o.Realtime != nil {
		if s.realtime, err = realtime.New(o.Store, s.lobbyOptions(config)); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if o.Projects == nil {
		return nil
	}
	handler, err := projects.New(o.controlOptions())
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.control = s.httpServer(handler, config, cmp.Or(o.Projects.Addr, "127.0.0.1:3000"), o.Projects.Listener)
	return nil
}

// lobbyOptions returns the options of the realtime lobby, those that it lacks from the replica.
func (s *Server) lobbyOptions(config *tls.Config) realtime.Options {
	o, lobby := s.options, *s.options.Realtime
	lobby.TLS, lobby.FailureRate = cmp.Or(lobby.TLS, config.Clone()), cmp.Or(lobby.FailureRate, o.FailureRate)
	lobby.Universe, lobby.Signer = cmp.Or(lobby.Universe, o.universeName()), cmp.Or[realtime.Signer](lobby.Signer,
		o.Keys)
	lobby.Log, lobby.Metrics = cmp.Or(lobby.Log, o.Log), cmp.Or(lobby.Metrics, o.Metrics.Registerer())
	if lobby.TrustedProxies == nil {
		lobby.TrustedProxies = o.TrustedProxies
	}
	if lobby.OnRefusal == nil {
		lobby.OnRefusal = s.refusalBook.Record
	}
	return lobby
}

// controlOptions returns the options of the control API, those that it lacks from the replica.
func (o Options) controlOptions() projects.Options {
	control := o.Projects.Options
	control.Store, control.FailureRate, control.CallTimeout = cmp.Or(control.Store,
		o.Store), cmp.Or(control.FailureRate, o.FailureRate), cmp.Or(control.CallTimeout, o.CallTimeout)
	control.Log, control.Metrics, control.Tracer = cmp.Or(control.Log, o.Log), cmp.Or(control.Metrics,
		o.Metrics.HTTP), cmp.Or(control.Tracer, o.Tracer)
	if control.TrustedProxies == nil {
		control.TrustedProxies = o.TrustedProxies
	}
	return control
}

// Console configures the operators' console. Fields that are zero have the value of the replica.
type Console struct {
	console.Options

	Addr     string // "" means 127.0.0.1:8090. Listener, if set, is used instead.
	Listener net.Listener
}

// ConsoleDefaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func ConsoleDefaults() Console {
	return Console{Options: console.Options{SessionTTL: console.DefaultSessionTTL}}
}

// mountConsole makes the console, if the options have it, with the settings that all faces share.
func (s *Server) mountConsole(config *tls.Config) error {
	o := s.options
	if o.Console == nil {
		return nil
	}
	options := o.Console.Options
	options.Store, options.Doctor.Store = cmp.Or[console.Store](options.Store, o.Store), cmp.Or(options.Doctor.Store,
		o.Store)
	options.Universe, options.Explain = cmp.Or(options.Universe,
		o.universeName()), cmp.Or[console.Explainer](options.Explain, s.explainer)
	options.FailureRate = cmp.Or(options.FailureRate, o.FailureRate)
	options.Log, options.Metrics, options.Tracer = cmp.Or(options.Log, o.Log), cmp.Or(options.Metrics,
		o.Metrics.HTTP.OfOperators()), cmp.Or(options.Tracer, o.Tracer)
	if options.Tokens == nil {
		options.Tokens = o.OpsTokens
	}
	if options.TrustedProxies == nil {
		options.TrustedProxies = o.TrustedProxies
	}
	handler, err := console.New(options)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.consoleKeys = handler.LoginKeys()
	s.console = s.httpServer(handler, config, cmp.Or(o.Console.Addr, "127.0.0.1:8090"), o.Console.Listener)
	s.console.OnShutdown(handler.Stop) // Shutdown waits for streams, which end only by this.
	return nil
}

// Orchestrator configures the orchestrator of Rivalis game servers. Its Handler is the API; fields that are zero have
// the value of the replica.
type Orchestrator struct {
	orchestrator.Options

	AdminKeys []string // of callers of the API, of at least 16 bytes each; required unless NoAPI is set
	// for an agent to acknowledge a command, on which all replicas must agree; 0 means 10 s
	CommandTimeout time.Duration
	CORSOrigins    []string // whose pages may call the API
	SSEQueryAuth   bool     // accept ?key= on the stream of events
	NoAPI          bool     // serve agents and probes only
	MaxStreams     int      // streams of events at a time; 0 means 100
}

// OrchestratorDefaults returns what operators may change, with its defaults.
func OrchestratorDefaults() Orchestrator {
	return Orchestrator{Options: orchestrator.Defaults(), CommandTimeout: 10 * time.Second}
}

func (o Orchestrator) withDefaults() Orchestrator {
	d := OrchestratorDefaults()
	o.Region = cmp.Or(o.Region, d.Region)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, d.CommandTimeout)
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	return o
}

// agents is what serves Rivalis game servers on this replica: their connections, its copy of the fleet with the events,
// the calls that wait for commands, and the sessions that are rooms.
type agents struct {
	connections *orchestrator.Server

	roster *roster.Roster
	events *roster.Events
	caller *command.Caller
	hosts  *roomhost.Host
	api    *orchestrator.REST

	endStreams context.CancelFunc
}

// mountOrchestrator makes the orchestrator, if the options have it, with the settings that all faces share.
func (s *Server) mountOrchestrator(config *tls.Config) (err error) {
	if s.options.Orchestrator == nil {
		return nil
	}
	o := s.options.Orchestrator.withDefaults()
	o.Metrics = cmp.Or(o.Metrics, s.options.Metrics.Registerer())
	if o.TrustedProxies == nil {
		o.TrustedProxies = s.options.TrustedProxies
	}
	if s.agents, err = s.newAgents(o, config); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

func (s *Server) newAgents(o Orchestrator, config *tls.Config) (a *agents, err error) {
	store, log := s.options.Store, s.options.Log
	guard := panics.New(log, nil)
	a = &agents{}
	copied := roster.Config{Log: log, Guard: guard, Metrics: o.Metrics}
	if a.roster, err = roster.New(store, o.Region, copied); err != nil {
		return nil, err
	}
	if a.events, err = roster.NewEvents(store, a.roster, o.MaxStreams, copied); err != nil {
		return nil, err
	}
	// The functions below are called when the replica runs. Until its connections are made at the end, they see no
	// replica.
	a.caller = command.New(store, o.Region, command.Options{
		Replica: a.Replica, Timeout: o.CommandTimeout, WaitFor: a.awaitRoster, NearestAgents: a.roster.NearestAgents,
		Log: log, Guard: guard,
	})
	a.hosts = roomhost.New(roomhost.Options{
		Store: store, Region: o.Region, Replica: a.Replica, Log: log, Guard: guard,
		Destroy: func(ctx context.Context, room string) error {
			_, err := store.DestroyRoom(ctx, o.Region, room, a.Replica(), "director", o.CommandTimeout)
			return err
		},
	})
	var streams context.Context
	streams, a.endStreams = context.WithCancel(context.Background())
	if a.api, err = orchestrator.NewREST(s.restOfAgents(streams, o, a)); err != nil {
		return nil, err
	}
	a.connections, err = orchestrator.New(s.connectionsOfAgents(o, config, a.api))
	return a, err
}

// connectionsOfAgents returns the options of the listener. What it does not serve itself is answered by api.
func (s *Server) connectionsOfAgents(o Orchestrator, config *tls.Config, api http.Handler) orchestrator.Options {
	c := o.Options
	c.Store, c.Log, c.TLS = cmp.Or[orchestrator.Store](c.Store, s.options.Store), cmp.Or(c.Log,
		s.options.Log), cmp.Or(c.TLS, config.Clone())
	c.CheckHere = s.options.Store.CheckHere
	c.FailureRate, c.OtherHandler = cmp.Or(c.FailureRate, s.options.FailureRate), api
	return c
}

func (s *Server) restOfAgents(streams context.Context, o Orchestrator, a *agents) orchestrator.RESTOptions {
	return orchestrator.RESTOptions{
		Region: o.Region, CheckHere: s.options.Store.CheckHere, Roster: a.roster, Lookup: s.options.Store,
		Commander: a.caller, FollowEvents: a.followEvents,
		CheckReady: s.checkReady,
		AdminKeys:  o.AdminKeys, NoAPI: o.NoAPI, QueryKey: o.SSEQueryAuth, CORSOrigins: o.CORSOrigins,
		TrustedProxies: o.TrustedProxies,
		CommandTimeout: o.CommandTimeout, Stopping: streams, Log: s.options.Log, Metrics: s.options.Metrics.HTTP,
		Tracer: s.options.Tracer,
	}
}
