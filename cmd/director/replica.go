package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/migrations"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/worker"
)

// process holds what all long-running commands need.
type process struct {
	command  string
	conf     *loaded
	log      *slog.Logger
	tracing  tracing
	registry *prometheus.Registry
	metrics  *telemetry.Metrics
	store    *db.Store
	sealer   *token.Sealer

	functions *functions.Matchmaker // of the director loop; nil without one
	providers *providerSet          // of the worker; nil without one
	listening atomic.Pointer[net.Addr]
}

// newProcess makes a process of a command, and checks the schema if the database is reachable. The caller closes the process.
func newProcess(ctx context.Context, command string, conf *loaded, log *slog.Logger) (*process, error) {
	p, err := openProcess(ctx, command, conf, log)
	if err != nil {
		return nil, err
	}
	if err := p.checkSchema(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// openProcess makes all parts that do not need a reachable database.
func openProcess(ctx context.Context, command string, conf *loaded, log *slog.Logger) (*process, error) {
	limitMemory(conf.GCPercent)
	p := &process{command: command, conf: conf, log: log, registry: prometheus.NewRegistry()}
	var err error
	if p.sealer, err = conf.sealer(); err != nil {
		return nil, err
	}
	if p.metrics, err = telemetry.New(p.registry, buildVersion().Version); err != nil {
		return nil, err
	}
	if p.tracing, err = startTracing(ctx, conf.OTLPEndpoint, log); err != nil {
		return nil, err
	}
	cfg := conf.store()
	cfg.Name = connectionName(command)
	cfg.KeyEncryptionKeys = p.sealer.Fingerprints()
	if command != "serve" || conf.Work {
		cfg.Providers = conf.Providers
	}
	cfg.Log, cfg.Observer, cfg.Tracer = log, p.metrics, p.tracing.queries()
	if cfg.Rooms, err = conf.roomTypes(); err != nil {
		p.tracing.stop()
		return nil, err
	}
	if conf.RealtimeAddr != "" {
		cfg.Queueing = realtime.Queueing(conf.OMRegion, conf.RealtimeTicketTTL)
	}
	if p.store, err = db.Open(ctx, cfg); err != nil {
		p.tracing.stop()
		return nil, err
	}
	return p, nil
}

// connectionName names the connections of this process in pg_stat_activity and ops.processes: what it does, its host and its process id.
func connectionName(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	id := "/" + strconv.Itoa(os.Getpid())
	const most = 63 // bytes, of which Postgres keeps no more
	name := "director " + command + " " + host
	return name[:min(len(name), most-len(id))] + id
}

func (p *process) close() {
	if p.providers != nil {
		p.providers.close()
	}
	p.store.Close()
	p.tracing.stop()
}

// endReportTimeout bounds how long a worker that stops waits for the database.
const endReportTimeout = 2 * time.Second

// endReport records that a worker has ended. Replicas do it themselves.
func (p *process) endReport(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endReportTimeout)
	defer cancel()
	_ = p.store.EndReport(ctx) // the database is away: the report grows old
}

// store returns the configuration of the database. Settings that the command does not read have their defaults.
func (c *Config) store() db.Config {
	timing := db.DefaultTiming()
	timing.LeaseTTL = cmp.Or(c.LeaseTTL, timing.LeaseTTL)
	timing.SeatTTL = cmp.Or(c.SeatTTL, timing.SeatTTL)
	timing.UnreportedSeatTTL = cmp.Or(c.UnreportedSeatTTL, timing.UnreportedSeatTTL)
	timing.TokenTTL = cmp.Or(c.SessionTokenTTL, timing.TokenTTL)
	timing.NetcodeExpire = cmp.Or(c.NetcodeExpire, timing.NetcodeExpire)
	timing.NetcodeTimeout = cmp.Or(c.NetcodeTimeout, timing.NetcodeTimeout)
	timing.PendingFor = cmp.Or(c.OMPendingFor, timing.PendingFor)
	timing.AssignedFor = cmp.Or(c.OMAssignedFor, timing.AssignedFor)
	pooler := c.Pooler
	if pooler == "none" {
		pooler = ""
	}
	return db.Config{
		URL: c.DatabaseURL, DirectURL: c.DatabaseURLDirect, Pooler: pooler, MaxConns: int32(c.MaxConns), MaxReserved: c.MaxReserved, HoldTimeout: c.HoldTimeout,
		Timing: timing, Describe: c.describeTicket, NoHistory: c.MatchHistory == 0,
	}
}

// describeTicket returns what history keeps of a ticket. A body that cannot be read has no attributes.
func (c *Config) describeTicket(body []byte, party []string) db.TicketFacts {
	facts := db.TicketFacts{Party: c.privacy().Party(party)}
	if t, err := ticketbody.Decode("", time.Time{}, body, c.OMPlayerArg); err == nil {
		facts.Attributes, facts.Latencies = c.privacy().Facts(t)
	}
	return facts
}

// schedule returns the rotation schedule of the signing keys.
func (c *Config) schedule() keyring.Schedule {
	return keyring.Schedule{Period: c.KeyPeriod, MaxAge: c.JWKSMaxAge, TokenTTL: c.SessionTokenTTL}
}

// schemaTimeout is how long a start waits for the database before it continues without a check of the schema.
const schemaTimeout = 5 * time.Second

// checkSchema refuses a schema that is older than this build needs. It accepts an unreachable database, which may be back
// before an orchestrator would restart this process.
func (p *process) checkSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	version, err := p.store.SchemaVersion(ctx)
	latest := migrations.Latest()
	switch {
	case fault.Is(err, fault.Unavailable):
		p.log.LogAttrs(ctx, slog.LevelWarn, "the database is unreachable: starting anyway, ready once it is reachable", slog.Any("error", err))
		return nil
	case err != nil:
		return explainDatabaseError(err)
	case version < latest:
		return fmt.Errorf("the schema of this database is at version %d and this build needs %d: run 'director migrate up' first", version, latest)
	case version > latest:
		p.log.LogAttrs(ctx, slog.LevelWarn, "the schema is newer than this build, which is supported for one release", slog.Int64("schema", version), slog.Int64("build", latest))
	}
	return nil
}

// serve runs a replica, optionally with a worker, until ctx ends. It calls started once the server listens.
func (p *process) serve(ctx context.Context, withWorker bool, started func(*server.Server)) error {
	s, w, err := p.replica(ctx, withWorker)
	if err != nil {
		return err
	}
	if err := s.Listen(ctx); err != nil {
		return listenError(err, serversAddrs)
	}
	addr := s.Addr()
	p.listening.Store(&addr)
	started(s)
	return runWithWorker(ctx, w, s.Run)
}

// replica makes a server, and a worker that shares its matchmaker, or nil.
func (p *process) replica(ctx context.Context, withWorker bool) (s *server.Server, w *worker.Worker, err error) {
	options, err := p.serverOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if withWorker {
		if w, err = p.worker(); err != nil {
			return nil, nil, err
		}
		if options.OpenMatch != nil {
			options.OpenMatch.Matchmaker = p.functions
		}
	}
	s, err = server.New(options)
	return s, w, err
}

// runWithWorker calls run, and runs the worker, if there is one, until run has returned.
func runWithWorker(ctx context.Context, w *worker.Worker, run func(context.Context) error) error {
	if w == nil {
		return run(ctx)
	}
	working, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	loops.Go(func() { w.Run(working) })
	err := run(ctx)
	stop()
	loops.Wait()
	return err
}

// serversAddrs are the flags of a replica's listeners.
const serversAddrs = "--addr, --grpc-addr, --orchestrator-addr, --realtime-addr, --realtime-control-addr, --console-addr or --metrics-addr"

func listenError(err error, flags string) error {
	return fmt.Errorf("%w; choose another address with %s (:0 is any free port)", err, flags)
}

func (p *process) serverOptions(ctx context.Context) (server.Options, error) {
	c := p.conf
	access, err := p.access(ctx)
	if err != nil {
		return server.Options{}, err
	}
	if len(c.FleetTokens) == 0 && !c.AllowOpenFleet {
		p.log.Info("only game servers of deployments are served: DIRECTOR_FLEET_TOKEN is not set")
	}
	tickets := c.openMatchOptions()
	if tickets != nil {
		tickets.Metrics = p.registry
	}
	rivalis := c.orchestratorOptions()
	if rivalis != nil {
		rivalis.Metrics = p.registry
	}
	bevygap := c.bevygapOptions()
	if bevygap != nil {
		bevygap.Metrics = p.registry
	}
	lobby, err := c.realtimeOptions(p.sealer)
	if err != nil {
		return server.Options{}, err
	}
	if lobby != nil {
		lobby.Metrics = p.registry
	}
	return server.Options{
		Realtime: lobby, Projects: c.projectsOptions(p.sealer), Console: c.consoleOptions(p.sealer),
		OpenMatch: tickets, Orchestrator: rivalis, Bevygap: bevygap,
		Store: p.store, Keys: keyring.New(p.store, p.sealer, c.TokenAlg, c.schedule()), Connects: connect.New(p.sealer),
		Access:      access,
		FleetTokens: c.FleetTokens, OpenFleet: c.AllowOpenFleet, Deployments: p.sealer.DeploymentTokens(), OpsTokens: c.OpsTokens, Modes: play.Modes(c.Modes),
		Addr: c.Addr, MetricsAddr: c.MetricsAddr, TLSCert: c.TLSCert, TLSKey: c.TLSKey,
		TrustedProxies: c.TrustedProxies, CORSOrigins: c.CORSOrigins,
		CallTimeout: c.CallTimeout, MaxInFlight: c.MaxInFlight,
		PlayerArg: c.OMPlayerArg, MaxCandidates: c.LoopCandidates,
		Universe: c.OMRegion, MaxWaiters: c.OMMaxWatchers, TicketLease: positiveOr(c.TicketLease, -1),
		CallerRate: rate(c.PlayerRate, c.PlayerBurst), FailureRate: rate(c.FailureRate, c.FailureBurst),
		DrainDelay: c.DrainDelay, ShutdownTimeout: c.ShutdownBudget,
		Log: p.log, Tracer: p.tracing.provider(), Metrics: p.metrics,
	}, nil
}

// access returns the verification of access tokens, without keys if no key set is configured. A key set from a file or JSON must
// be readable at the start. One from a URL is read in the background, and errors go to the log.
func (p *process) access(ctx context.Context) (token.AccessConfig, error) {
	c := p.conf
	if c.JWKS == "" {
		p.log.Info("players are not served: DIRECTOR_AUTH_JWKS is not set")
		return token.AccessConfig{}, nil
	}
	keys, err := token.NewKeySource(c.JWKS, token.SourceOptions{PlainHTTP: c.JWKSPlainHTTP, Log: p.log})
	if err != nil {
		return token.AccessConfig{}, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	if strings.Contains(c.JWKS, "://") {
		go func() { _, _ = keys.Keys(ctx) }()
	} else if _, err := keys.Keys(ctx); err != nil {
		return token.AccessConfig{}, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	return token.AccessConfig{Keys: keys, Issuer: c.AuthIssuer, Audience: c.AuthAudience}, nil
}

// positiveOr returns d, or otherwise where d is 0: for options whose zero value is a default.
func positiveOr(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func rate(perSecond, burst int) rest.Rate {
	if perSecond == 0 {
		perSecond = -1 // because 0 is the server's default
	}
	return rest.Rate{PerSecond: float64(perSecond), Burst: burst}
}

func (p *process) worker() (*worker.Worker, error) {
	deciding, err := p.loopOptions()
	if err != nil {
		return nil, err
	}
	providers, provisioning, err := p.provision(!p.conf.development)
	if err != nil {
		return nil, err
	}
	return worker.New(worker.Options{
		Providers: providers, Provision: provisioning,
		Store: p.store, Sealer: p.sealer, Alg: p.conf.TokenAlg, Policy: p.conf.schedule().Policy(),
		ReapEvery: p.conf.ReapInterval, Retention: p.conf.HistoryRetention, MatchRetention: positiveOr(p.conf.MatchHistory, -1),
		Doctor: p.conf.doctor(), Reports: p.command == "work",
		Loop: deciding, Log: p.log, Metrics: p.registry,
	})
}

// checkCommon checks the settings that both replicas and workers need.
func (c *Config) checkCommon() error {
	var missing []error
	if c.DatabaseURL == "" {
		missing = append(missing, errors.New("there is no database: set DATABASE_URL, such as postgres://director@db.internal/director "+
			"('director dev' starts its own)"))
	} else if _, err := pgx.ParseConfig(c.DatabaseURL); err != nil {
		missing = append(missing, err)
	}
	if _, err := c.sealer(); err != nil {
		missing = append(missing, err)
	}
	if lead := c.schedule().Policy().Lead; c.KeyPeriod < lead {
		missing = append(missing, fmt.Errorf("--key-period / DIRECTOR_KEY_PERIOD: %s is too short: a key is published for %s before it signs, "+
			"which follows from DIRECTOR_JWKS_MAX_AGE", brief(c.KeyPeriod), brief(lead)))
	}
	return errors.Join(append(missing, c.checkProvision())...)
}

// checkServe checks the settings that only replicas need. A replica that serves Open Match, Rivalis, the realtime lobby or guests of bevygap need not
// serve anything else.
func (c *Config) checkServe() error {
	missing := []error{c.checkCommon()}
	alone := len(c.GRPCAddrs) > 0 || c.OrchestratorAddr != "" || c.Bevygap == "guests" || c.RealtimeAddr != "" || c.RealtimeControlAddr != ""
	if !alone && len(c.FleetTokens) == 0 && !c.AllowOpenFleet {
		missing = append(missing, errors.New("there is no fleet token, so anybody could register game servers: set DIRECTOR_FLEET_TOKEN "+
			"('openssl rand -hex 24' makes one), or allow it with --allow-open-fleet"))
	}
	if !alone && c.JWKS == "" {
		missing = append(missing, errors.New("there is no key set to verify players' access tokens with: set DIRECTOR_AUTH_JWKS "+
			"to your login's JWKS, as an https URL, a file or JSON"))
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		missing = append(missing, errors.New("TLS needs both a certificate and its key: set DIRECTOR_TLS_CERT and DIRECTOR_TLS_KEY, or neither"))
	}
	missing = append(missing, c.checkOpenMatch(), c.checkOrchestrator(), c.checkBevygap(), c.checkRealtime(), c.checkConsole())
	return errors.Join(missing...)
}
