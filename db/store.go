package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
)

// Store reads and decides all state. It is safe for concurrent use. In memory it has only connections, waiting calls,
// and copies of rows that it can read again.
type Store struct {
	*provisioning // its methods are the store's

	cfg             Config
	frame           frame.Frame
	pool            *pgxpool.Pool
	readerPool      *pgxpool.Pool // of its own, so that large reads cannot starve short transactions
	poolerErrors    poolerErrors
	q               *query.Queries
	clock           clock
	idMint          *idMint
	catalogue       *catalogue
	noticeBus       *notify.Bus
	decidingRegions answerCache // by region, whether a worker decides about the tickets there
	poolModes       pooledModeCache
	loginLines      loginLines
	batchGroups     groups
	projectCaches   projectCaches
	otherCells      atomic.Pointer[cellsByRegion]
	heldCalls       heldCalls
	profileJudges   sync.Map      // of profileJudge, by the name of the profile
	consoleReads    chan struct{} // full while as many reads of the console run as may
}

// provisioning names the embedded field, which would otherwise be called Store.
type provisioning = provision.Store

// Close closes the connections. Running calls end as Unavailable.
func (s *Store) Close() {
	s.noticeBus.Close()
	s.closePools()
}

func (s *Store) closePools() {
	s.readerPool.Close()
	s.pool.Close()
}

// Pool returns the pool of connections, for metrics and for tests.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Timing returns the durations that the store uses.
func (s *Store) Timing() Timing { return s.cfg.Timing }

// Ping checks that the database answers. Errors: Unavailable.
func (s *Store) Ping(ctx context.Context) error { return frame.Classify(s.pool.Ping(ctx)) }

// PoolerTrouble says which setting to change, if a pooler has broken a statement or a connection in the last 10
// seconds; "" if none has. It does not query the database.
func (s *Store) PoolerTrouble() string {
	if e := s.poolerErrors.lastError.Load(); e != nil && time.Since(e.seenAt) < poolerErrorLasts {
		return e.hint
	}
	return ""
}
