package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/worker"
)

// process holds what all long-running commands need.
type process struct {
	commandName     string
	conf            *loaded
	log             *slog.Logger
	tracing         tracing
	metricsRegistry *prometheus.Registry
	metrics         *telemetry.Metrics
	store           *db.Store
	sealer          *token.Sealer

	matchmaker  *functions.Matchmaker // of the director loop; nil without one
	providerSet *providerSet          // of the worker; nil without one
	listenAddrs atomic.Pointer[listenAddrs]
}

// newProcess makes a process of a command, and checks the schema if the database is reachable. The caller closes the
// process.
func newProcess(ctx context.Context, command string, conf *loaded, log *slog.Logger) (*process, error) {
	p, err := openProcess(ctx, command, conf, log)
	if err != nil {
		return nil, err
	}
	if err := p.checkSchema(ctx); err != nil {
		p.closeAll()
		return nil, err
	}
	return p, nil
}

// openProcess makes all parts that do not need a reachable database.
func openProcess(ctx context.Context, command string, conf *loaded, log *slog.Logger) (*process, error) {
	// Before the options of the parts, which size their buffers by the limit.
	limitMemory(conf.environ)
	p := &process{commandName: command, conf: conf, log: log, metricsRegistry: prometheus.NewRegistry()}
	var err error
	if p.sealer, err = conf.makeSealer(); err != nil {
		return nil, err
	}
	if p.metrics, err = telemetry.New(p.metricsRegistry, buildVersion().Version); err != nil {
		return nil, err
	}
	if p.tracing, err = startTracing(ctx, conf.OTLPEndpoint, log); err != nil {
		return nil, err
	}
	cfg := conf.store()
	cfg.Name = connectionName(command)
	cfg.KeyEncryptionKeys = p.sealer.Fingerprints()
	// A replica without a worker calls no provider, and must not count as one that has them.
	if command != "serve" || conf.RunsWorker {
		cfg.Providers = conf.ProviderNames
	}
	cfg.Log, cfg.Observer, cfg.Tracer = log, p.metrics, p.tracing.queryTracer()
	if cfg.RoomTypes, err = conf.roomTypes(); err != nil {
		p.tracing.stop()
		return nil, err
	}
	if conf.Realtime.Addr != "" {
		cfg.Queueing = realtime.Queueing(conf.Server.Universe, conf.Realtime.TicketTTL)
	}
	if p.store, err = db.Open(ctx, cfg); err != nil {
		p.tracing.stop()
		return nil, err
	}
	return p, nil
}

// connectionName names the connections of this process in pg_stat_activity and ops.processes: what it does, its host
// and its process id.
func connectionName(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	id := "/" + strconv.Itoa(os.Getpid())
	const most = 63 // bytes, of which Postgres keeps no more
	name := "director " + command + " " + host
	// The host is cut, not the process id: two processes of one host would look the same.
	return name[:min(len(name), most-len(id))] + id
}

func (p *process) closeAll() {
	if p.providerSet != nil {
		p.providerSet.closeProviders()
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

// store returns the configuration of the database.
func (c *Config) store() db.Config {
	cfg := c.Database
	cfg.DescribeTicket, cfg.PlayersOf = c.describeTicket, c.playersOf
	cfg.NoHistory, cfg.Universe = c.keepsNoHistory(), c.Server.Universe
	return cfg
}

// keepsNoHistory reports whether matches and the tickets that left the queue are not recorded.
func (c *Config) keepsNoHistory() bool { return c.Worker.MatchRetention < 0 }

// describeTicket returns what history keeps of a ticket. A body that cannot be read has no attributes.
func (c *Config) describeTicket(body []byte, party []string) db.TicketFacts {
	facts := db.TicketFacts{Party: c.HistoryPrivacy.Party(party)}
	if t, err := ticketbody.Decode("", time.Time{}, body, c.Server.PlayerArg); err == nil {
		facts.Attributes, facts.Latencies = c.HistoryPrivacy.Facts(t)
	}
	return facts
}

// playersOf returns the players that the body of a ticket names; none where it cannot be read.
func (c *Config) playersOf(body []byte) (subs []string) {
	t, err := ticketbody.Decode("", time.Time{}, body, c.Server.PlayerArg)
	if err != nil {
		return nil
	}
	for _, player := range t.Players {
		subs = append(subs, player.Sub)
	}
	return subs
}

// keySchedule returns the rotation schedule of the signing keys.
func (c *Config) keySchedule() keyring.Schedule {
	schedule := c.KeySchedule
	schedule.TokenTTL = c.Database.Timing.TokenTTL
	return schedule
}

// schemaTimeout is how long a start waits for the database before it continues without a check of the schema.
const schemaTimeout = 5 * time.Second

// checkSchema refuses a schema that is older than this build needs. It accepts an unreachable database, which may be
// back before an orchestrator would restart this process.
func (p *process) checkSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	version, err := p.store.SchemaVersion(ctx)
	latest := migrations.Latest()
	switch {
	case fault.Is(err, fault.Unavailable):
		p.log.LogAttrs(ctx, slog.LevelWarn, "the database is unreachable: starting anyway, ready once it is reachable",
			slog.Any("error", err))
		return nil
	case err != nil:
		return explainDatabaseError(err)
	case version < latest:
		return fmt.Errorf("the schema of this database is at version %d and this build needs %d: run 'director "+
			"migrate up' first", version, latest)
	// An upgrade migrates first: the old processes serve until they are replaced.
	case version > latest:
		p.log.LogAttrs(ctx, slog.LevelWarn, "the schema is newer than this build, which is supported for one release",
			slog.Int64("schema", version), slog.Int64("build", latest))
	}
	return nil
}

// serveReplica runs a replica, optionally with a worker, until ctx ends. It calls started once the server listens.
func (p *process) serveReplica(ctx context.Context, withWorker bool, started func(*server.Server)) error {
	s, w, err := p.makeReplica(ctx, withWorker)
	if err != nil {
		return err
	}
	if err := s.Listen(ctx); err != nil {
		return listenError(err, serversAddrs)
	}
	p.listenAddrs.Store(&listenAddrs{s.Addr(), s.NATSAddr()})
	started(s)
	return runWithWorker(ctx, w, s.Run)
}

// makeReplica makes a server, and a worker that shares its matchmaker, or nil.
func (p *process) makeReplica(ctx context.Context, withWorker bool) (s *server.Server, w *worker.Worker, err error) {
	options, err := p.serverOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if withWorker {
		if w, err = p.makeWorker(); err != nil {
			return nil, nil, err
		}
		if options.OpenMatch != nil {
			// One matchmaker, so that cycles of clients and of the loop share its connections and its memory.
			options.OpenMatch.Matchmaker = p.matchmaker
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
	stop() // if ctx has ended, so has the worker; if the server has failed, it ends here
	loops.Wait()
	return err
}

// serversAddrs are the flags of a replica's listeners.
const serversAddrs = "--addr, --grpc-addr, --orchestrator-addr, --bevygap-nats-addr, --realtime-addr, " +
	"--realtime-control-addr, --console-addr or --metrics-addr"

func listenError(err error, flags string) error {
	return fmt.Errorf("%w; choose another address with %s (:0 is any free port)", err, flags)
}

func (p *process) serverOptions(ctx context.Context) (server.Options, error) {
	c := p.conf
	o := c.Server
	var err error
	if o.Access.Keys, err = p.accessKeys(ctx); err != nil {
		return o, err
	}
	if len(o.FleetTokens) == 0 && !o.OpenFleet {
		p.log.Info("only game servers with a credential of their own are served, of deployments and by enrolments " +
			"(director enrolments create): DIRECTOR_FLEET_TOKEN is not set")
	}
	if o.Realtime, err = c.realtimeOptions(p.sealer); err != nil {
		return o, err
	}
	o.OpenMatch, o.Orchestrator, o.Bevygap = c.openMatchOptions(), c.orchestratorOptions(), c.bevygapOptions()
	o.NATS = c.natsOptions()
	o.Projects, o.Console = c.projectsOptions(p.sealer), c.consoleOptions(p.sealer)
	o.Store, o.Keys, o.ConnectMinter = p.store, keyring.New(p.store, p.sealer, c.Worker.Alg,
		c.keySchedule()), connect.New(p.sealer)
	o.ServerTokens = p.sealer.ServerTokens()
	o.Log, o.Tracer, o.Metrics = p.log, p.tracing.tracerProvider(), p.metrics
	return o, nil
}

// accessKeys returns the keys that verify access tokens, or nil if no key set is configured. A key set from a file or
// JSON must be readable at the start. One from a URL is read in the background, and errors go to the log.
func (p *process) accessKeys(ctx context.Context) (*token.KeySource, error) {
	c := p.conf
	if c.JWKS == "" {
		p.log.Info("players are not served: DIRECTOR_AUTH_JWKS is not set")
		return nil, nil //nolint:nilnil // token.AccessConfig: nil is none
	}
	keys, err := token.NewKeySource(c.JWKS, token.SourceOptions{PlainHTTP: c.JWKSPlainHTTP, Log: p.log})
	if err != nil {
		return nil, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	// A login that is away for a moment must not keep a replica from starting.
	if strings.Contains(c.JWKS, "://") {
		go func() { _, _ = keys.Keys(ctx) }()
	} else if _, err := keys.Keys(ctx); err != nil {
		return nil, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	return keys, nil
}

func (p *process) makeWorker() (*worker.Worker, error) {
	deciding, err := p.loopOptions()
	if err != nil {
		return nil, err
	}
	providers, provisioning, err := p.makeProviders(!p.conf.isDevelopment)
	if err != nil {
		return nil, err
	}
	o := p.conf.Worker
	o.Store, o.Sealer, o.Policy = p.store, p.sealer, p.conf.keySchedule().Policy()
	o.MatchLoop, o.Providers, o.Provision = deciding, providers, provisioning
	o.Doctor, o.Reports = p.conf.doctorOptions(), p.commandName == "work"
	o.Log, o.Metrics = p.log, p.metricsRegistry
	return worker.New(o)
}

// checkCommon checks the settings that both replicas and workers need.
func (c *Config) checkCommon() error {
	var missing []error
	if c.Database.URL == "" {
		missing = append(missing, errors.New("there is no database: set DATABASE_URL, such as "+
			"postgres://director@db.internal/director "+
			"('director dev' starts its own)"))
	} else if _, err := pgx.ParseConfig(c.Database.URL); err != nil {
		missing = append(missing, err)
	}
	if _, err := c.makeSealer(); err != nil {
		missing = append(missing, err)
	}
	if lead := c.keySchedule().Policy().Lead; c.KeySchedule.KeyPeriod < lead {
		missing = append(missing, fmt.Errorf("--key-period / DIRECTOR_KEY_PERIOD: %s is too short: a key is "+
			"published for %s before it signs, "+
			"which follows from DIRECTOR_JWKS_MAX_AGE", briefDuration(c.KeySchedule.KeyPeriod), briefDuration(lead)))
	}
	return errors.Join(append(missing, c.checkProvision())...)
}

// checkServe checks the settings that only replicas need. A replica that serves Open Match, Rivalis, the realtime lobby
// or guests of bevygap need not serve anything else.
func (c *Config) checkServe() error {
	missing := []error{c.checkCommon()}
	alone := len(c.OpenMatch.Addrs) > 0 || c.Orchestrator.Addr != "" || c.BevygapPlayers == bevygapGuests ||
		c.Realtime.Addr != "" || c.Projects.Addr != ""
	if !alone && c.JWKS == "" {
		missing = append(missing, errors.New("there is no key set to verify players' access tokens with: set "+
			"DIRECTOR_AUTH_JWKS "+
			"to your login's JWKS, as an https URL, a file or JSON"))
	}
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		missing = append(missing, errors.New("TLS needs both a certificate and its key: set DIRECTOR_TLS_CERT and "+
			"DIRECTOR_TLS_KEY, or neither"))
	}
	missing = append(missing, c.checkOpenMatch(), c.checkOrchestrator(), c.checkBevygap(), c.checkRealtime(),
		c.checkConsole())
	return errors.Join(missing...)
}
