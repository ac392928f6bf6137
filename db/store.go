package db

import (
	"context"
	"sync"
	"sync/atomic"

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
	decidingRegions answerCache // whether a worker decides about the tickets of a region
	poolModes       pooledModes
	loginLines      loginLines
	batchGroups     groups
	projectCaches   projectCaches
	otherCells      atomic.Pointer[elsewhere]
	profileJudges   sync.Map      // of profiles, by name: see profileJudge
	consoleReads    chan struct{} // full while as many reads of the console run as may
}

// provisioning is embedded under this name.
type provisioning = provision.Store

// Open makes a Store. The database need not be up: connections are made when they are needed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	s := &Store{cfg: cfg, clock: clock{pod: cfg.PodClock}, idMint: newIDMint(),
		consoleReads: make(chan struct{}, consoleReads)}
	if err := s.openPools(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.noticeBus, err = s.newBus(); err != nil {
		return nil, err
	}
	s.provisioning = provision.New(provision.Options{Frame: s.frame, Notify: s.Notify, Now: s.Now,
		CheckHere: s.CheckHere, VirtualClock: cfg.VirtualClock})
	s.catalogue = newCatalogue(query.New(s.readerPool), cfg.Log)
	s.batchGroups = s.newGroups()
	return s, nil
}

// Close closes the connections. Running calls end as Unavailable.
func (s *Store) Close() {
	s.noticeBus.Close()
	s.readerPool.Close()
	s.pool.Close()
}

// Pool returns the pool of connections, for metrics and for tests.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Timing returns the durations that the store uses.
func (s *Store) Timing() Timing { return s.cfg.Timing }

// Ping checks that the database answers. Errors: Unavailable.
func (s *Store) Ping(ctx context.Context) error { return frame.Classify(s.pool.Ping(ctx)) }
