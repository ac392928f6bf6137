package db

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/nearest"
)

// catalogue caches the regions and modes that instances offer, or offered in the last day. With it a refused placement
// can distinguish a misspelt name from a lack of capacity. Nothing else uses it.
type catalogue struct {
	useLock   chan struct{} // full while a goroutine uses the catalogue
	readModes func(context.Context) ([]query.KnownModesRow, error)
	log       *slog.Logger
	readAt    time.Time // when the last reading began; zero: never
	regions   map[string][]string

	warnedSince   time.Time
	warnedDetails map[string]bool
}

const (
	catalogueAge = 10 * time.Minute // how long a name counts as known after a reading
	// how long a name counts as unknown after a reading: there is one a second at most
	catalogueFresh   = time.Second
	catalogueTimeout = time.Second // of a reading
	warnEvery        = time.Minute
	maxWarnings      = 20  // different names within warnEvery
	maxSuggestions   = 256 // known names that a misspelt one is compared with
)

func newCatalogue(q *query.Queries, log *slog.Logger) *catalogue {
	return &catalogue{useLock: make(chan struct{}, 1), readModes: q.KnownModes, log: log,
		warnedDetails: map[string]bool{}}
}

// explain returns the error for a request that was refused for lack of capacity: the refusal, or that no instance
// offers the mode or the region. The latter is said by a reading that is at most a second old: an instance that has
// registered since, and has no place either, is known a second later.
func (k *catalogue) explain(ctx context.Context, r PlaceRequest, refusal error) error {
	// A channel instead of a mutex: a caller whose time is over must not wait for somebody else's reading.
	select {
	case k.useLock <- struct{}{}:
		defer func() { <-k.useLock }()
	case <-ctx.Done():
		return refusal
	}
	if k.knows(r) && time.Since(k.readAt) < catalogueAge {
		return refusal
	}
	if !k.renew(ctx) || k.knows(r) {
		return refusal
	}
	unknown := k.unknown(r)
	k.warn(ctx, r, unknown)
	return unknown
}

func (k *catalogue) knows(r PlaceRequest) bool { return slices.Contains(k.regions[r.Region], r.Mode) }

// renew reads the catalogue again, unless the last reading is fresh. It returns false without a reading. The reading
// continues when the caller leaves.
func (k *catalogue) renew(ctx context.Context) bool {
	if time.Since(k.readAt) < catalogueFresh {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogueTimeout)
	defer cancel()
	// The age counts from before the reading, since an instance that registers meanwhile may be missing in it.
	k.readAt = time.Now()
	rows, err := k.readModes(ctx)
	if err != nil {
		// A reading that failed counts for nothing: the next refused request tries again at once.
		k.readAt = time.Time{}
		return false
	}
	k.regions = map[string][]string{}
	for _, row := range rows {
		k.regions[row.Region] = append(k.regions[row.Region], row.Mode)
	}
	return true
}

func (k *catalogue) unknown(r PlaceRequest) *fault.Error {
	modes, ok := k.regions[r.Region]
	if !ok {
		return fault.New(fault.NoCapacity, "region_unknown", "no instance runs, or ran lately, in region %q%s",
			r.Region,
			suggestName(r.Region, slices.Sorted(maps.Keys(k.regions))))
	}
	return fault.New(fault.NoCapacity, "mode_unknown", "no instance in region %q offers, or offered lately, mode %q%s",
		r.Region, r.Mode, suggestName(r.Mode, modes))
}

// warn logs that players request a mode or region that no instance offers: for each name once a minute, and for a
// bounded number of names.
func (k *catalogue) warn(ctx context.Context, r PlaceRequest, unknown *fault.Error) {
	if time.Since(k.warnedSince) > warnEvery {
		k.warnedSince = time.Now()
		clear(k.warnedDetails)
	}
	if k.warnedDetails[unknown.Detail] || len(k.warnedDetails) >= maxWarnings {
		return
	}
	k.warnedDetails[unknown.Detail] = true
	k.log.LogAttrs(ctx, slog.LevelWarn, "players request a mode or region that no game server offers",
		slog.String("code", unknown.Code), slog.String("region", r.Region), slog.String("mode", r.Mode),
		slog.String("detail", unknown.Detail))
}

// suggestName returns a text that names the known name nearest to a misspelt one; "" when none is near.
func suggestName(misspelt string, known []string) string {
	best := nearest.NameFold(misspelt, known[:min(len(known), maxSuggestions)], max(2, len(misspelt)/3))
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
