package db

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// SetBeacon sets the URL that clients fetch to measure the latency to a game region; "" removes it. Errors: Invalid,
// Unavailable.
func (a Act) SetBeacon(ctx context.Context, region, url string) (changed bool, err error) {
	p := query.OpsSetBeaconParams{Region: region}
	if url != "" {
		p.Url = &url
	}
	return callAct(ctx, a, (*query.Queries).OpsSetBeacon, p)
}

// PlayerLatencies are the latencies that counted for players: by the player's sub and the game region, in milliseconds.
type PlayerLatencies map[string]map[string]uint16

type latenciesCall = batch.Call[playersLookup, PlayerLatencies]

// KnownLatencies returns the latencies that counted for players within a day, without players of whom none are known.
// Calls that wait at the same time share one statement. Errors: Unavailable.
func (s *Store) KnownLatencies(ctx context.Context, universe string, subs []string) (PlayerLatencies, error) {
	return s.batchGroups.playerLatencies.Do(ctx, universe, playersLookup{subs})
}

// readLatencies answers a batch of reads with one statement.
func (s *Store) readLatencies(ctx context.Context, universe string, calls []*latenciesCall) error {
	var subs []string
	for _, c := range calls {
		subs = append(subs, c.Req.subs...)
	}
	known, err := knownLatencies(ctx, s.q, universe, subs)
	if err != nil {
		return err
	}
	for _, c := range calls {
		// Callers may change their maps, so each gets its own.
		found := PlayerLatencies{}
		for _, sub := range c.Req.subs {
			if latencies, ok := known[sub]; ok {
				found[sub] = latencies
			}
		}
		c.Answer(found, nil)
	}
	return nil
}

// knownLatencies reads what is known of players, who may be listed twice.
func knownLatencies(ctx context.Context, q *query.Queries, universe string, subs []string) (PlayerLatencies, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(subs)))
	rows, err := q.KnownLatencies(ctx, query.KnownLatenciesParams{Region: universe, Subs: distinct})
	if err != nil {
		return nil, err
	}
	known := make(PlayerLatencies, len(rows))
	for _, r := range rows {
		var latencies map[string]uint16
		if err := json.Unmarshal(r.Latencies, &latencies); err != nil {
			return nil, err
		}
		known[r.Sub] = latencies
	}
	return known, nil
}

// List returns the latencies without the players.
func (l PlayerLatencies) List() []map[string]uint16 { return slices.Collect(maps.Values(l)) }

// ForgetLatencies deletes what is known of players who have not queued for a day, at most batch of them. Errors:
// Unavailable.
func (s *Store) ForgetLatencies(ctx context.Context, batch int) (int, error) {
	n, err := s.q.ForgetLatencies(ctx, int32(batch))
	return int(n), frame.Classify(err)
}
