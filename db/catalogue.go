package db

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/internal/nearest"
)

// catalogue is what a replica knows of the regions and modes that instances offer, or offered in the last day. It tells a
// misspelt name from one without free capacity. It is read when a placement is refused, and for nothing else.
type catalogue struct {
	lock    chan struct{} // full while a goroutine reads or renews the catalogue
	read    func(context.Context) ([]KnownModesRow, error)
	log     *slog.Logger
	readAt  time.Time // when reading it began; zero: never
	regions map[string][]string

	warnedSince time.Time
	warned      map[string]bool
}

const (
	catalogueAge      = 10 * time.Minute // a known name counts as known for this long
	cataloguePause    = time.Second      // between two readings, whatever is asked
	catalogueTimeout  = time.Second
	warnEvery         = time.Minute
	warningsAtOnce    = 20  // different names in that time
	longestSuggestion = 256 // known names that a misspelt one is compared with
)

func newCatalogue(q *Queries, log *slog.Logger) *catalogue {
	return &catalogue{lock: make(chan struct{}, 1), read: q.KnownModes, log: log, warned: map[string]bool{}}
}

// explain returns what to tell the caller of a request that was refused for want of capacity: the refusal, or that nobody
// offers the mode or the region. It says so only by a reading that began after the refusal; there is one a second at most,
// and a request that comes too early for the next one gets the refusal.
func (k *catalogue) explain(ctx context.Context, r PlaceRequest, refusal error) error {
	refused := time.Now()
	select {
	case k.lock <- struct{}{}:
		defer func() { <-k.lock }()
	case <-ctx.Done():
		return refusal
	}
	if k.knows(r) && time.Since(k.readAt) < catalogueAge {
		return refusal
	}
	if k.readAt.Before(refused) && !k.renew(ctx) || k.knows(r) {
		return refusal
	}
	unknown := k.unknown(r)
	k.warn(ctx, r, unknown)
	return unknown
}

func (k *catalogue) knows(r PlaceRequest) bool { return slices.Contains(k.regions[r.Region], r.Mode) }

// renew reads the catalogue anew, unless that is too early or fails. The caller may leave meanwhile.
func (k *catalogue) renew(ctx context.Context) bool {
	if time.Since(k.readAt) < cataloguePause {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogueTimeout)
	defer cancel()
	k.readAt = time.Now()
	rows, err := k.read(ctx)
	if err != nil {
		k.readAt = time.Time{}
		return false
	}
	k.regions = map[string][]string{}
	for _, row := range rows {
		k.regions[row.Region] = append(k.regions[row.Region], row.Mode)
	}
	return true
}

func (k *catalogue) unknown(r PlaceRequest) *Error {
	modes, ok := k.regions[r.Region]
	if !ok {
		return newError(NoCapacity, "region_unknown", "no instance is, or was lately, in region %q%s", r.Region,
			suggestion(r.Region, slices.Sorted(maps.Keys(k.regions))))
	}
	return newError(NoCapacity, "mode_unknown", "no instance in region %q offers, or offered lately, mode %q%s", r.Region, r.Mode, suggestion(r.Mode, modes))
}

// warn logs once a minute for each name that players ask for a mode or region that no instance offers.
func (k *catalogue) warn(ctx context.Context, r PlaceRequest, unknown *Error) {
	if time.Since(k.warnedSince) > warnEvery {
		k.warnedSince = time.Now()
		clear(k.warned)
	}
	if k.warned[unknown.Detail] || len(k.warned) >= warningsAtOnce {
		return
	}
	k.warned[unknown.Detail] = true
	k.log.LogAttrs(ctx, slog.LevelWarn, "players ask for what no game server offers",
		slog.String("code", unknown.Code), slog.String("region", r.Region), slog.String("mode", r.Mode), slog.String("detail", unknown.Detail))
}

// suggestion names the known name that is nearest to a misspelt one, if there is one that is near.
func suggestion(misspelt string, known []string) string {
	best := nearest.NameFold(misspelt, known[:min(len(known), longestSuggestion)], max(2, len(misspelt)/3))
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
