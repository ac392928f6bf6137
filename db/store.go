package db

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Timing is how long things last. Replicas of one fleet must agree on it.
type Timing struct {
	LeaseTTL          time.Duration // an instance counts as alive this long after a heartbeat
	SeatTTL           time.Duration // a reserved seat that nobody resolves is freed
	TokenTTL          time.Duration // a session token is valid
	ConnectGrace      time.Duration // on top of TokenTTL before a resolved seat is freed; covers skew and the join itself
	LongestHold       time.Duration // a seat nobody connects to is freed at the latest, where the instance reports seats
	UnreportedSeatTTL time.Duration // a resolved seat is held, where the instance reports none
	ClosedMemory      time.Duration // a closed session is answered as closed, later as unknown
	IdempotencyTTL    time.Duration // an answer is replayed to the same Idempotency-Key
	PendingFor        time.Duration // a ticket in a match that nobody assigns, nor releases, stays away from other matches
	AssignedFor       time.Duration // an assigned ticket is remembered, with its assignment
}

// DefaultTiming gives the defaults: 15 s leases, 60 s seats, 2 min tokens with 30 s grace, 10 min longest hold, 2 h
// unreported seats, 24 h of memory and of idempotency, 1 min for a match to be assigned, 10 min of assigned tickets.
func DefaultTiming() Timing {
	return Timing{
		LeaseTTL:          15 * time.Second,
		SeatTTL:           60 * time.Second,
		TokenTTL:          2 * time.Minute,
		ConnectGrace:      30 * time.Second,
		LongestHold:       10 * time.Minute,
		UnreportedSeatTTL: 2 * time.Hour,
		ClosedMemory:      24 * time.Hour,
		IdempotencyTTL:    24 * time.Hour,
		PendingFor:        time.Minute,
		AssignedFor:       10 * time.Minute,
	}
}

// Config says which database a Store uses and how.
type Config struct {
	// URL is a PostgreSQL connection string; it may lead through a transaction pooler.
	URL string
	// DirectURL leads to the same database and around poolers, which pass no notifications on. Empty means URL where there
	// is no Pooler; with one, other replicas' changes are found by polling only.
	DirectURL string
	// Pooler is empty for a direct connection or a pooler that tracks prepared statements, "pgbouncer" for one that
	// does not: statements are then described, not prepared.
	Pooler string
	// MaxConns bounds the pool; 0 means 16. Hot calls share transactions, so few connections carry many callers.
	MaxConns int32
	Timing   Timing
	// MaxReserved bounds how many players one caller may hold reserved in a region; 0 means 1024.
	MaxReserved int
	// MaxWaiting bounds the calls that wait for a group, for each kind of call; 0 means 32768. More are refused as
	// Unavailable at once.
	MaxWaiting int
	// MaxWaitingBytes bounds the memory that the requests among these calls take, for each kind of call; 0 means 32 MiB.
	// What exceeds it is refused as Unavailable at once.
	MaxWaitingBytes int
	// BatchTimeout bounds one batch of grouped calls, which ends sooner when the deadline of its last caller has passed; 0
	// means 5 s.
	BatchTimeout time.Duration
	// HoldTimeout is how long a process that stops in the middle of a transaction may hold others up at most: Postgres ends
	// its transaction by then. A batch that takes longer fails as Unavailable. 0 means 2 s.
	HoldTimeout time.Duration
	// LockWait is how long a placement waits for a lock that another transaction holds, such as a session that is being
	// filled, before it looks for a seat without it; 0 means 200 ms. Healthy transactions take some milliseconds. It must be
	// less than half of HoldTimeout.
	LockWait time.Duration
	Tracer   pgx.QueryTracer  // may be nil
	Observer GroupObserver    // may be nil
	Log      *slog.Logger     // nil means slog.Default
	PodClock func() time.Time // nil means time.Now; a test may have it wrong on purpose
}

func (c Config) withDefaults() Config {
	c.MaxConns = orDefault(c.MaxConns, 16)
	c.MaxReserved = orDefault(c.MaxReserved, 1024)
	c.MaxWaiting = orDefault(c.MaxWaiting, 32768)
	c.MaxWaitingBytes = orDefault(c.MaxWaitingBytes, 32<<20)
	c.BatchTimeout = orDefault(c.BatchTimeout, 5*time.Second)
	c.HoldTimeout = orDefault(c.HoldTimeout, 2*time.Second)
	c.LockWait = orDefault(c.LockWait, 200*time.Millisecond)
	c.Timing = orDefault(c.Timing, DefaultTiming())
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.PodClock == nil {
		c.PodClock = time.Now
	}
	return c
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Store answers every question about the state. It is safe for concurrent use and holds no state of its own but
// connections, calls in flight, and what it read and may read again.
type Store struct {
	cfg     Config
	pool    *pgxpool.Pool
	readers *pgxpool.Pool // for what reads a large part of a table: it takes no connection from who needs one for a moment
	q       *Queries
	clock   clock
	ids     *idMint
	pooler  poolerTrouble

	catalogue *catalogue

	notifier *notifier
	listener *listener

	beats    *group[beat, int]
	placer   *group[PlaceRequest, Placement]
	opener   *group[PlaceRequest, Placement] // of the requests that the placer leaves because they must wait for locks
	resolver *group[resolveRequest, Resolved]
	reporter *group[SeatReport, SeatReportResult]
	creator  *group[*created, Ticket]
	getter   *group[string, Ticket]
	leaver   *group[string, struct{}]
}

// Open makes a Store. It does not need the database to be up: connections are made when they are needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	lc, err := listenConfig(cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, clock: clock{pod: cfg.PodClock}, ids: newIDMint()}
	pc.ConnConfig.OnPgError = s.pooler.watch(pc.ConnConfig.OnPgError)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	rc := pc.Copy()
	rc.AfterConnect = cfg.prepareReader
	rc.MaxConns = max(2, cfg.MaxConns/4)
	readers, err := pgxpool.NewWithConfig(ctx, rc)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	s.pool, s.readers, s.q = pool, readers, New(pool)
	s.catalogue = newCatalogue(New(readers), cfg.Log)
	s.notifier = newNotifier(s.sendNotice, cfg.Log)
	s.listener = newListener(cfg, lc, s.notifier.sender, func() { s.Notify(topicEcho, "") })
	s.makeGroups()
	return s, nil
}

// makeGroups makes a group for each kind of hot call.
func (s *Store) makeGroups() {
	s.beats = newGroup(s.cfg, "heartbeat", groupLimits[beat]{2048, byCount[beat], beat.bytes}, s.beatTogether)
	placements := groupLimits[PlaceRequest]{256, func(r PlaceRequest) int { return len(r.Party) }, PlaceRequest.bytes}
	s.placer = newGroup(s.cfg, "placement", placements, s.placeTogether)
	s.opener = newGroup(s.cfg, "opening", placements, s.openTogether)
	s.resolver = newGroup(s.cfg, "resolve", groupLimits[resolveRequest]{512, byCount[resolveRequest], resolveRequest.bytes}, s.resolveTogether)
	s.reporter = newGroup(s.cfg, "seats", groupLimits[SeatReport]{512, func(r SeatReport) int { return 1 + len(r.Joined) + len(r.Left) }, SeatReport.bytes}, s.reportTogether)
	s.creator = newGroup(s.cfg, "ticket", groupLimits[*created]{1024, (*created).weigh, (*created).bytes}, s.createTogether)
	s.getter = newGroup(s.cfg, "ticket read", groupLimits[string]{1024, byCount[string], oneText}, s.getTogether)
	s.leaver = newGroup(s.cfg, "ticket leaves", groupLimits[string]{1024, byCount[string], oneText}, s.leaveTogether)
}

func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	switch cfg.Pooler {
	case "":
	case "pgbouncer":
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	default:
		return nil, fmt.Errorf("pooler %q: allowed are \"\" and \"pgbouncer\"", cfg.Pooler)
	}
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.ConnConfig.Tracer = cfg.Tracer
	introduce(pc.ConnConfig)
	pc.ConnConfig.BuildContextWatcherHandler = newLeaveHandler
	pc.AfterConnect = cfg.prepareConn
	return pc, nil
}

func introduce(c *pgx.ConnConfig) {
	c.ConnectTimeout = 2 * time.Second
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "director"
	}
}

// prepareConn teaches a connection our types, how to plan, and for how long Postgres waits for it.
func (c Config) prepareConn(ctx context.Context, conn *pgx.Conn) error {
	registerTypes(conn.TypeMap())
	return introduceTimeouts(ctx, conn, c.sessionTimeouts(), plainPlans)
}

// registerTypes teaches a connection uuid.UUID, which pgx else takes a long way round through text, and flat arrays.
func registerTypes(types *pgtype.Map) {
	pgxuuid.Register(types)
	flatArrays(types)
}

// prepareReader is prepareConn for statements that may choose a large part of a table, by an index of terms or by none:
// which of them is better is for the planner to say.
func (c Config) prepareReader(ctx context.Context, conn *pgx.Conn) error {
	registerTypes(conn.TypeMap())
	return introduceTimeouts(ctx, conn, c.readerTimeouts(), readerPlans)
}

// plainPlans keeps a hot statement's one plan, instead of making a new one for each batch of arguments, which costs more
// than running it. Rows are looked up by index however small the table was when the plan was made, since it may grow by
// thousands before anybody counts them again, and hot tables are in memory. Bitmaps are not made: a plain index scan marks
// what it finds dead, so that the next one does not look there again. Nothing is compiled. A pooler may not keep this:
// then statements are only slower.
const (
	plainPlans  = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; SET random_page_cost = 1.1; SET jit = off"
	readerPlans = "SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1; SET jit = off"
)

// Drain waits until no grouped call is in flight, or ctx ends. Call it when no new calls come in.
func (s *Store) Drain(ctx context.Context) error {
	for _, wait := range []func(context.Context) error{
		s.beats.drain, s.placer.drain, s.opener.drain, s.resolver.drain, s.reporter.drain, s.creator.drain, s.getter.drain, s.leaver.drain,
	} {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connections. Calls in flight end as Unavailable.
func (s *Store) Close() {
	s.listener.close()
	s.notifier.close()
	s.readers.Close()
	s.pool.Close()
}

// Pool gives the connections, for metrics and for tests.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Timing tells how long things last.
func (s *Store) Timing() Timing { return s.cfg.Timing }

// Ping asks the database for an answer. Errors: Unavailable.
func (s *Store) Ping(ctx context.Context) error { return classify(s.pool.Ping(ctx)) }
