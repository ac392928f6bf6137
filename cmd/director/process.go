package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/migrations"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
)

// process holds what all long-running commands need.
type process struct {
	commandName     string
	conf            *loaded
	log             *slog.Logger
	tracing         tracing
	metricsRegistry *prometheus.Registry
	metrics         *telemetry.Metrics
	// Opened without a connection: a replica starts while the database is unreachable.
	store  *db.Store
	sealer *token.Sealer

	matchmaker  *functions.Matchmaker // of the director loop; nil without one
	providerSet *providerSet          // of the worker; nil without one
	// Written once, before the worker runs, which reads it at each start of a server; nil: this process does not
	// listen.
	listenAddrs atomic.Pointer[listenAddrs]
}

// newProcess makes a process of a command, and checks the schema if the database is reachable. The caller must call
// closeAll.
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
	// First: the parts size their buffers by the memory limit.
	limitMemory(conf.environ)
	p := &process{commandName: command, conf: conf, log: log, metricsRegistry: prometheus.NewRegistry()}
	var err error
	if p.sealer, err = conf.config.makeSealer(); err != nil {
		return nil, err
	}
	if p.metrics, err = telemetry.New(p.metricsRegistry, buildVersion().Version); err != nil {
		return nil, err
	}
	if p.tracing, err = startTracing(ctx, conf.config.OTLPEndpoint, log); err != nil {
		return nil, err
	}
	cfg := conf.config.store()
	// pg_stat_activity and ops.processes show the name.
	cfg.Name = connectionName(command)
	// Their fingerprints, which the process reports to operators.
	cfg.KeyEncryptionKeys = p.sealer.Fingerprints()
	// ops.providers counts the processes that have a provider. A replica without a worker calls none.
	if command != "serve" || conf.config.RunsWorker {
		cfg.Providers = conf.config.ProviderNames
	}
	cfg.Log, cfg.Observer, cfg.Tracer = log, p.metrics, p.tracing.queryTracer()
	if cfg.RoomTypes, err = conf.config.roomTypes(); err != nil {
		p.tracing.stop()
		return nil, err
	}
	// A process that does not serve the lobby has no sessions that could queue.
	if conf.config.Realtime.Addr != "" {
		cfg.Queueing = realtime.Queueing(conf.config.Server.Universe, conf.config.Realtime.TicketTTL)
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
	const maxBytes = 63 // Postgres cuts longer names
	name := "director " + command + " " + host
	// The host is cut and not the process id, without which two processes of a host would have the same name.
	return name[:min(len(name), maxBytes-len(id))] + id
}

// closeAll ends what the process has opened. The traces are last, so that those of all others are exported.
func (p *process) closeAll() {
	if p.providerSet != nil {
		p.providerSet.closeProviders()
	}
	p.store.Close()
	p.tracing.stop()
}

// endReportTimeout bounds how long a worker that stops waits for the database.
const endReportTimeout = 2 * time.Second

// endReport records that a worker has ended. A replica does it itself, at the end of server.Run.
func (p *process) endReport(ctx context.Context) {
	// ctx has ended: that is why the worker stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endReportTimeout)
	defer cancel()
	_ = p.store.EndProcessReport(ctx) // without it, the report gets old, and the process looks dead and not ended
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
	// An upgrade migrates first, and a process of the previous release may still be restarted.
	case version > latest:
		p.log.LogAttrs(ctx, slog.LevelWarn, "the schema is newer than this build, which is supported for one release",
			slog.Int64("schema", version), slog.Int64("build", latest))
	}
	// Before anything runs, so that no decision is by this machine's clock.
	_ = p.store.ReadClock(ctx) // the loops read it again
	return nil
}
