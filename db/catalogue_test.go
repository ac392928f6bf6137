package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a misspelt name that is refused for lack of capacity, again and again, without a hint or a log.
func TestMisspeltNamesAreNoLackOfCapacity(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "a")
	s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"))
	ask := func(region, mode string) *fault.Error {
		s.catalogue.readAt = time.Time{} // it is not too early to read again
		r := duelFor(8, "ann")
		r.Region, r.Mode = region, mode
		_, err := s.Place(t.Context(), r)
		var refusal *fault.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, fault.NoCapacity, refusal.Kind)
		return refusal
	}
	require.Equal(t, "no_capacity", ask("eu", "duel").Code)
	require.Equal(t, "mode_unknown", ask("eu", "Dule").Code)
	require.Contains(t, ask("eu", "Dule").Detail, `mode "Dule"; did you mean "duel"?`)
	require.Equal(t, "region_unknown", ask("ue", "duel").Code)
	require.Contains(t, ask("ue", "duel").Detail, `region "ue"; did you mean "eu"?`)
	require.NotContains(t, ask("eu", "capture-the-flag").Detail, "did you mean")

	require.NoError(t, s.Deregister(t.Context(), InstanceRef{InstanceID: "a"}))
	require.Equal(t, "no_capacity", ask("eu", "duel").Code, "the only instance ended just now")
	_, err := s.pool.Exec(t.Context(), "UPDATE instances SET ended_at = now() - interval '25 hours'")
	require.NoError(t, err)
	_, err = s.ForgetInstances(t.Context(), "eu", 24*time.Hour, 10)
	require.NoError(t, err)
	require.Equal(t, "region_unknown", ask("eu", "duel").Code, "there was no instance for a day")
}

// Pins a first request for a misspelt name that is refused for lack of capacity, because another one has caused a
// reading less than a second before. The number of readings must be bounded, and a mode that was added is known a
// second later.
func TestTheCatalogueIsReadOnceASecond(t *testing.T) {
	t.Parallel()
	reads, known := 0, []query.KnownModesRow{{Region: "eu", Mode: "duel"}}
	k := newCatalogue(nil, slog.New(slog.DiscardHandler))
	k.readModes = func(context.Context) ([]query.KnownModesRow, error) { reads++; return known, nil }
	refusal := fault.New(fault.NoCapacity, "no_capacity", "full")
	ask := func(mode string) error {
		return k.explain(t.Context(), PlaceRequest{Region: "eu", Mode: mode}, refusal)
	}

	start := time.Now()
	for i := range 1000 {
		require.ErrorContains(t, ask(fmt.Sprint("dule-", i)), "mode_unknown")
		require.ErrorContains(t, k.explain(t.Context(), PlaceRequest{Region: fmt.Sprint("ue-", i), Mode: "duel"},
			refusal), "region_unknown")
		require.Equal(t, refusal, ask("duel"))
	}
	require.LessOrEqual(t, reads, 2+int(time.Since(start)/modeUnknownFor))
	known = append(known, query.KnownModesRow{Region: "eu", Mode: "race"})
	k.readAt = time.Now().Add(-modeUnknownFor)
	require.Equal(t, refusal, ask("race"))

	k.readAt = time.Time{}
	k.readModes = func(context.Context) ([]query.KnownModesRow, error) { return nil, errors.New("the database is away") }
	require.Equal(t, refusal, ask("dule"), "without a reading no name is unknown")
}

func TestUnknownNamesAreLoggedWithinBounds(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	k := newCatalogue(nil, slog.New(slog.NewTextHandler(&text, nil)))
	k.readModes = func(context.Context) ([]query.KnownModesRow, error) {
		return []query.KnownModesRow{{Region: "eu", Mode: "duel"}}, nil
	}
	for i := range 100 {
		for range 3 {
			k.readAt = time.Time{}
			require.Error(t, k.explain(t.Context(), PlaceRequest{Region: "eu", Mode: fmt.Sprint("mode-", i)}, nil))
		}
	}
	require.Equal(t, maxWarnings, strings.Count(text.String(), "level=WARN"))
	require.Contains(t, text.String(), "mode=mode-0 ")
}
