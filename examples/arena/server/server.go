// Package server is the arena's game server: it accepts WebSocket connections and runs one room per session. It admits
// only players whose session token it has verified and the director has redeemed.
//
// The rules of the game are in ../game. The SDK sends heartbeats and reports which players joined and left; this
// package calls its Admit, Leave and End.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/lattice-director/director/sdk"
)

// Config is a server's configuration. Director, InstanceID, Region, Modes and Capacity are required.
type Config struct {
	Director   *sdk.Client
	FleetToken string
	InstanceID string
	Region     string
	Modes      []string
	Capacity   int
	Version    string
	// Listen is the TCP address for players. Default "127.0.0.1:0", a free port.
	Listen string
	// DirectorSaysEndpoint is set for a deployed server: the director knows from the provider where players connect.
	DirectorSaysEndpoint bool
	// Advertise is the URL at which players connect. Default "ws://<address listened on>/play", with the host name when
	// the server listens on all addresses, as in a container.
	Advertise string
	// HeartbeatEvery should be a third of the director's lease. Default 5 s.
	HeartbeatEvery time.Duration
	// HelloTimeout bounds how long a connection may take to show its token. Default 5 s.
	HelloTimeout time.Duration
	// EmptyFor is how long a session may be without players before the server ends it. Default 10 s, because a
	// party does not connect in one instant.
	EmptyFor time.Duration
	// Logger logs players and sessions; nil logs nothing.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.HelloTimeout <= 0 {
		c.HelloTimeout = 5 * time.Second
	}
	if c.EmptyFor <= 0 {
		c.EmptyFor = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// WithDeployment returns the configuration with what the director has decided for a deployment: who the server is, and
// the port of this name.
func (c Config) WithDeployment(d sdk.Deployment, port string) Config {
	c.FleetToken, c.InstanceID, c.Region = d.Server.FleetToken, d.Server.InstanceID, d.Server.Region
	c.Modes, c.Capacity = d.Server.Modes, d.Server.Capacity
	c.Listen, c.Advertise, c.DirectorSaysEndpoint = ":"+strconv.Itoa(d.Ports[port]), "", true
	return c
}

// Server is a running game server. Safe for concurrent use.
type Server struct {
	serverConfig Config
	gameServer   *sdk.GameServer
	rooms        *rooms
	http         *http.Server
	joinSlots    chan struct{}   // semaphore of connections that are not admitted yet
	lifeContext  context.Context //nolint:containedctx // ends with the server
	endLife      context.CancelFunc

	mu         sync.Mutex
	isClosed   bool
	goroutines sync.WaitGroup
}

// Start listens, then registers; ctx bounds the registration. The server then runs until Run or Shutdown end it.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, err
	}
	// Only now the port is known, if it was 0.
	if cfg.Advertise == "" && !cfg.DirectorSaysEndpoint {
		cfg.Advertise = "ws://" + reachableEndpoint(listener.Addr()) + "/play"
	}
	// All seats may be joined at once. The 64 more are for connections that show no token, which keep none of these
	// out.
	s := &Server{serverConfig: cfg, joinSlots: make(chan struct{}, cfg.Capacity+64)}
	s.lifeContext, s.endLife = context.WithCancel(context.Background())
	// The function runs only for sessions that players have joined and left, so after sdk.Start has set gameServer.
	s.rooms = newRooms(cfg, func(session string) { s.gameServer.End(session) }, s.lifeContext.Done())
	s.gameServer, err = sdk.Start(ctx, cfg.Director, s.serverOptions())
	if err != nil {
		s.endLife()
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /play", s.serveGame)
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: cfg.HelloTimeout, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	// Players who connected since the registration wait in the listener's backlog until here.
	s.goroutines.Go(func() { _ = s.http.Serve(listener) }) // returns after Close, with no other error
	cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "arena is open",
		slog.String("instance_id", cfg.InstanceID), slog.String("endpoint", s.gameServer.Endpoint()))
	return s, nil
}

// reachableEndpoint is the address, with the name of this host in place of one that nobody can dial.
func reachableEndpoint(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

func (s *Server) serverOptions() sdk.ServerOptions {
	return sdk.ServerOptions{
		InstanceID: s.serverConfig.InstanceID, Endpoint: s.serverConfig.Advertise, Region: s.serverConfig.Region,
		Modes: s.serverConfig.Modes, Capacity: s.serverConfig.Capacity, Version: s.serverConfig.Version,
		FleetToken: s.serverConfig.FleetToken, HeartbeatEvery: s.serverConfig.HeartbeatEvery,
		Labels: map[string]string{"game": "arena"},
		// The director prefers servers with a lower load.
		Load: func() float64 { return float64(s.Players()) / float64(s.serverConfig.Capacity) },
	}
}

// Endpoint is where players connect; empty until the director has said it to a deployed server.
func (s *Server) Endpoint() string { return s.gameServer.Endpoint() }

// Players is the number of players who are connected now.
func (s *Server) Players() int { return s.rooms.countPlayers() }

// Run serves until SIGTERM, Ctrl-C or the end of ctx, then drains, gives matches up to grace to finish, and
// deregisters. It returns [sdk.ErrSuperseded] when another process has taken the instance id.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	err := s.gameServer.RunUntilSignal(ctx, grace)
	s.closeAll()
	return err
}

// Shutdown does what Run does at its end; ctx bounds how long matches may continue.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.gameServer.Shutdown(ctx)
	s.closeAll()
	return err
}

// closeAll runs when the SDK has ended: all admissions have ended by then, so all connections are closing.
func (s *Server) closeAll() {
	s.mu.Lock()
	s.isClosed = true
	s.mu.Unlock()
	s.endLife()
	_ = s.http.Close()
	// In this order: a connection may open a room until it has ended.
	s.goroutines.Wait()
	s.rooms.goroutines.Wait()
}

// beginConn counts a connection that closeAll waits for, and returns false after closeAll has begun. net/http does not
// wait for connections that have become WebSockets.
func (s *Server) beginConn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosed {
		s.goroutines.Add(1)
	}
	return !s.isClosed
}
