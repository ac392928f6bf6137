package db

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// mayWait reports whether a request, which is decided, waits for a server that a pool may start.
func (r *request) mayWait() bool {
	return r.placeRequest.WaitFor > 0 && r.verdict.err != nil && r.verdict.err.Kind == fault.NoCapacity
}

// awaitServers records the demand of requests that found no capacity, in one statement, and adds the outlook to their
// errors. If the statement fails, the errors have no outlook, and a later request of the player records the demand.
func (s *Store) awaitServers(ctx context.Context, region string, requests []*request) {
	var longest time.Duration
	var waiting []Waiting
	for _, r := range requests {
		waiting = append(waiting, Waiting{Region: region, Mode: r.placeRequest.Mode, Player: r.placeRequest.Caller,
			Party: r.placeRequest.Party, MaxPlayers: r.placeRequest.MaxPlayers, PlayerAddress: r.placeRequest.Address})
		// One statement has one lifetime of rows: the longest, so that no request is forgotten too early.
		longest = max(longest, r.placeRequest.WaitFor)
	}
	outlooks, err := s.putWaitingOfRegion(ctx, region, DemandMatchmake, longest, waiting)
	if err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "demand for servers was not recorded", slog.String("region", region),
			slog.Any("error", err))
		return
	}
	for _, r := range requests {
		for _, o := range outlooks {
			if o.Mode == r.placeRequest.Mode {
				r.verdict.err.AddOutlook(o)
			}
		}
	}
}

// endWaiting removes the demand of players that are being seated, in modes that pools serve.
func (p placing) endWaiting(seated []*request) {
	arg := query.EndWaitingParams{Region: p.region}
	for _, r := range seated {
		// Only modes that pools serve have rows of demand.
		if !p.pooledModes[regionMode{p.region, r.placeRequest.Mode}] {
			continue
		}
		for _, sub := range r.placeRequest.Party {
			addWaitingToEnd(&arg, r.placeRequest.Mode, sub)
		}
	}
	if len(arg.Keys) > 0 {
		query.QueueExec(p.q.Deferred(), (*query.Queries).EndWaiting, arg)
	}
}

func (s *Store) servedByPool(ctx context.Context, region, mode string) bool {
	return s.pooledModes(ctx)[regionMode{region, mode}]
}

// pooledModes returns the modes that pools serve, and reads them again when they are old. Callers must not change the
// map.
func (s *Store) pooledModes(ctx context.Context) map[regionMode]bool {
	known, isFresh := s.poolModes.current()
	if isFresh {
		return known
	}
	rows, err := s.q.ModesOfPools(ctx)
	// Old modes are better than none: a request for a mode without a pool is refused at once.
	if err != nil {
		return known
	}
	current := make(map[regionMode]bool, len(rows))
	for _, r := range rows {
		current[regionMode{r.Region, r.Mode}] = true
	}
	s.poolModes.replace(current)
	return current
}
