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
	useLock       chan struct{} // full while a goroutine uses the catalogue
	readModes     func(context.Context) ([]query.KnownModesRow, error)
	log           *slog.Logger
	readAt        time.Time // when the last reading began; zero: never
	modesByRegion map[string][]string

	warnedSince   time.Time
	warnedDetails map[string]bool // details that were logged since then
}

const (
	modeKnownFor     = 10 * time.Minute // how long a name counts as known after a reading
	modeUnknownFor   = time.Second      // how long a name counts as unknown after a reading
	catalogueTimeout = time.Second      // of a reading
	warnPeriod       = time.Minute      // in which the same detail is logged once
	maxWarnings      = 20               // different details within warnPeriod
	maxSuggestions   = 256              // known names that a misspelt one is compared with
)

func newCatalogue(q *query.Queries, log *slog.Logger) *catalogue {
	return &catalogue{useLock: make(chan struct{}, 1), readModes: q.KnownModes, log: log,
		warnedDetails: map[string]bool{}}
}

// explain returns the error for a request that was refused for lack of capacity: the refusal, or one that says that no
// instance offers the mode or the region, which it also logs. It says so by a reading that is at most modeUnknownFor
// old: the mode of an instance that has registered since counts as unknown for so long.
func (k *catalogue) explain(ctx context.Context, r PlaceRequest, refusal error) error {
	// A channel instead of a mutex: a caller whose time is over must not wait for somebody else's reading.
	select {
	case k.useLock <- struct{}{}:
		defer func() { <-k.useLock }()
	case <-ctx.Done():
		return refusal
	}
	if k.knows(r) && time.Since(k.readAt) < modeKnownFor {
		return refusal
	}
	if !k.renew(ctx) || k.knows(r) {
		return refusal
	}
	unknown := k.unknownError(r)
	k.warn(ctx, r, unknown)
	return unknown
}

func (k *catalogue) knows(r PlaceRequest) bool {
	return slices.Contains(k.modesByRegion[r.Region], r.Mode)
}

// renew reads the catalogue again, unless the last reading is younger than modeUnknownFor. It returns false if the
// reading fails. The reading continues when the caller leaves.
func (k *catalogue) renew(ctx context.Context) bool {
	if time.Since(k.readAt) < modeUnknownFor {
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
	k.modesByRegion = map[string][]string{}
	for _, row := range rows {
		k.modesByRegion[row.Region] = append(k.modesByRegion[row.Region], row.Mode)
	}
	return true
}

func (k *catalogue) unknownError(r PlaceRequest) *fault.Error {
	modes, ok := k.modesByRegion[r.Region]
	if !ok {
		return fault.New(fault.NoCapacity, "region_unknown", "no instance runs, or ran lately, in region %q%s",
			r.Region, suggestName(r.Region, slices.Sorted(maps.Keys(k.modesByRegion))))
	}
	return fault.New(fault.NoCapacity, "mode_unknown", "no instance in region %q offers, or offered lately, mode %q%s",
		r.Region, r.Mode, suggestName(r.Mode, modes))
}

// warn logs that players request a mode or region that no instance offers: each detail once in a warnPeriod, and at
// most maxWarnings details.
func (k *catalogue) warn(ctx context.Context, r PlaceRequest, unknown *fault.Error) {
	if time.Since(k.warnedSince) > warnPeriod {
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
