package db

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/lobby"
)

// Timing is how long rows count. All replicas and workers of a fleet must have the same Timing.
type Timing struct {
	LeaseTTL time.Duration // from a heartbeat until the instance's lease expires
	SeatTTL  time.Duration // from the reservation of a seat until it is freed when it is not resolved
	TokenTTL time.Duration // lifetime of a session token
	// ConnectGrace is from the end of its token until a resolved seat is freed: for clock skew and the time to join.
	ConnectGrace time.Duration
	// LongestHold is from the reservation of a seat until it is freed when no player connects, on instances that report
	// seats.
	LongestHold time.Duration
	// UnreportedSeatTTL is from a resolve until the seat is freed, on instances that do not report seats.
	UnreportedSeatTTL time.Duration
	ClosedMemory      time.Duration // for how long a closed session is answered as closed; later it is unknown
	IdempotencyTTL    time.Duration // for how long an answer is repeated for the same Idempotency-Key
	// PendingFor is for how long a matched ticket stays out of other matches unless it is assigned or released.
	PendingFor time.Duration
	// BackfillFor: a backfill expires when four fifths of this time have passed since its last acknowledgement. 0 means
	// PendingFor.
	BackfillFor time.Duration
	AssignedFor time.Duration // for how long an assigned ticket is kept, with its assignment
	// NetcodeExpire is from the resolve until a netcode connect token is no longer accepted; 0 means 45 s.
	NetcodeExpire time.Duration
	// NetcodeTimeout is the time without a packet after which netcode servers and clients end a connection; 0 means 15
	// s.
	NetcodeTimeout time.Duration
}

// DefaultTiming returns the defaults: 15 s leases, 60 s seats, 2 min tokens with 30 s grace, 10 min longest hold, 2 h
// unreported seats, 24 h for closed sessions and idempotency keys, 1 min to assign a match, 10 min for assigned
// tickets, 45 s for netcode tokens, 15 s without packets on their connections.
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
		NetcodeExpire:     45 * time.Second,
		NetcodeTimeout:    15 * time.Second,
	}
}

// Config says which database a Store uses and how.
type Config struct {
	// URL is a PostgreSQL connection string; it may lead through a transaction pooler.
	URL string
	// DirectURL leads to the same database without a pooler, since poolers pass no notifications on. Empty means URL if
	// Pooler is empty; otherwise changes by other replicas are found by polling only.
	DirectURL string
	// Name is how the connections appear in pg_stat_activity and ops.processes, unless URL names them; it begins with
	// director, and has at most 63 bytes. Empty means director.
	Name string
	// Providers are those through which the worker of this process starts game servers, for operators to see.
	Providers []string
	// KeyEncryptionKeys are the fingerprints of the key-encryption keys of this process, the one that seals first, for
	// operators to see.
	KeyEncryptionKeys []string
	// Pooler is empty for a direct connection or a pooler that tracks prepared statements, and "pgbouncer" for one that
	// does not: statements are then described, not prepared.
	Pooler string
	// MaxConns bounds the pool; 0 means 16. Frequent calls share transactions, so few connections serve many callers.
	MaxConns int32
	Timing   Timing
	// MaxReserved bounds how many players one caller may hold reserved in a region; 0 means 1024.
	MaxReserved int
	// MaxSessionsOfKey bounds the sessions of the realtime lobby that one key of a project opens in its region,
	// suspended ones included; 0 means 100,000.
	MaxSessionsOfKey int
	// MaxWaiting bounds the calls of one kind that wait for a batch; 0 means 32768. Further calls are refused at once
	// as Unavailable.
	MaxWaiting int
	// MaxWaitingBytes bounds the memory that the requests of the calls of one kind take; 0 means 32 MiB. Further calls
	// are refused at once as Unavailable.
	MaxWaitingBytes int
	// BatchTimeout bounds one batch of grouped calls, which ends earlier when the deadlines of all its callers have
	// passed; 0 means 5 s.
	BatchTimeout time.Duration
	// HoldTimeout bounds how long a process that stops in the middle of a transaction can block others: Postgres then
	// ends the transaction. A batch that takes longer fails as Unavailable. 0 means 2 s.
	HoldTimeout time.Duration
	// LockWait is how long a placement waits for a lock that another transaction holds, such as that of a session that
	// is being filled, before it looks for a seat elsewhere; 0 means 200 ms. Healthy transactions take some
	// milliseconds. LockWait must be less than half of HoldTimeout.
	LockWait time.Duration
	// DescribeTicket returns the facts that the history keeps of a ticket, from its body and players; nil: tickets that
	// leave the queue without a match have no history.
	DescribeTicket func(body []byte, party []string) TicketFacts
	// PlayersOf returns the players that the body of a ticket names, whatever client made it; nil: an erasure takes
	// each ticket of Open Match clients for one of the player that has the player's id as a text.
	PlayersOf func(body []byte) []string
	// NoHistory says that nothing is written to match_history and ticket_history.
	NoHistory bool
	// RequireFrom refuses profiles that use an attribute without saying who vouches for it (the key from): the client,
	// a claim or a backend.
	RequireFrom bool
	// RoomTypes are the types of rooms of the realtime lobby; nil: those that are built in. Replicas and workers should
	// have the same.
	RoomTypes *lobby.Types
	// Universe is the region of what backends store of players; "" means global.
	Universe string
	// Queueing says how sessions of the realtime lobby queue; nil: they do not queue at this process.
	Queueing *Queueing
	Tracer   pgx.QueryTracer  // may be nil
	Observer GroupObserver    // may be nil
	Log      *slog.Logger     // nil means slog.Default
	PodClock func() time.Time // nil means time.Now; a test may pass a clock that is wrong
	// VirtualClock replaces the database's clock where provisioning compares times, for tests that let hours pass; nil
	// means the database's.
	VirtualClock func() time.Time
}

// GroupObserver is notified of each batch (how many calls it decided, how long the oldest of them had waited, how long
// the batch took) and of each panic, which fails the batch in which it happens. Methods are called from many
// goroutines.
type GroupObserver = batch.Observer

// DefaultConfig returns the fields that operators may set, with their defaults. [Open] uses these for fields that are
// zero.
func DefaultConfig() Config {
	return Config{MaxConns: 16, HoldTimeout: 2 * time.Second, Timing: DefaultTiming()}
}

func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.MaxConns = orDefault(c.MaxConns, d.MaxConns)
	c.MaxReserved = orDefault(c.MaxReserved, 1024)
	c.MaxSessionsOfKey = orDefault(c.MaxSessionsOfKey, 100_000)
	c.MaxWaiting = orDefault(c.MaxWaiting, 32768)
	c.MaxWaitingBytes = orDefault(c.MaxWaitingBytes, 32<<20)
	c.BatchTimeout = orDefault(c.BatchTimeout, 5*time.Second)
	c.HoldTimeout = orDefault(c.HoldTimeout, d.HoldTimeout)
	c.LockWait = orDefault(c.LockWait, 200*time.Millisecond)
	c.Universe = orDefault(c.Universe, "global")
	if c.RoomTypes == nil {
		c.RoomTypes, _ = lobby.NewTypes(false, nil) // fails only for a wrong configuration, and there is none
	}
	c.Timing = orDefault(c.Timing, d.Timing)
	c.Timing.NetcodeExpire = orDefault(c.Timing.NetcodeExpire, d.Timing.NetcodeExpire)
	c.Timing.NetcodeTimeout = orDefault(c.Timing.NetcodeTimeout, d.Timing.NetcodeTimeout)
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

func (c Config) transactionHold() frame.Hold { return frame.Hold(c.HoldTimeout) }
