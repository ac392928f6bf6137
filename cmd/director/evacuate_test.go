package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins an operator who cannot evacuate a host, or does not see who went where.
func TestEvacuate(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	_, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	s.AddServer("eu-2", 8)

	preview := clitest.Read[db.EvacuationPreview](t, director, environ, "evacuate", "EU-1", "--dry-run")
	require.Equal(t, db.EvacuationPreview{Kind: "host", Value: "eu-1", Servers: 1, Alive: 1, Sessions: 1, Players: 1}, preview)
	require.Empty(t, clitest.Read[[]opsview.Evacuation](t, director, environ, "evacuations", "list"))

	worker, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // stands in for a worker
		for worker.Err() == nil {
			ids, _ := s.Evacuations(worker)
			for _, id := range ids {
				_, _ = s.StepEvacuation(worker, id, nil)
			}
		}
	}()
	run := director.Run(t, environ, "", "evacuate", "eu-1", "--requeue", "--dead", "--wait", "--timeout", "1m", "--reason", "fire", "-o", "json")
	require.NoError(t, run.Err, run.Stderr)
	all := clitest.Read[[]opsview.Evacuation](t, director, environ, "evacuations", "list")
	require.Len(t, all, 1)
	e := all[0]
	require.Equal(t, []any{"ended", "host", "eu-1", "fire", int64(1), int64(1)}, []any{e.State, e.Target, e.Value, e.Reason, e.Seated, e.ServersEnded})
	require.Less(t, time.Since(e.BegunAt), time.Hour)

	report := clitest.Read[evacuationReport](t, director, environ, "evacuations", "show", e.ID.String())
	require.Equal(t, e.ID, report.ID)
	require.Equal(t, []string{"anna", "eu-1", "seated"}, []string{report.Movements[0].Player, report.Movements[0].Instance, report.Movements[0].Outcome})
	require.Contains(t, director.OK(t, environ, "evacuations", "show", e.ID.String()), "anna")
	require.NotContains(t, director.OK(t, environ, "evacuations", "show", e.ID.String(), "--outcome", "nothing"), "anna")

	for want, args := range map[string][]string{
		"no game server has the host 'nowhere'":      {"evacuate", "nowhere"},
		"--seats-in is of --requeue":                 {"evacuate", "eu-1", "--seats-in", "us"},
		"--timeout is a time to wait":                {"evacuate", "eu-1", "--timeout", "1s"},
		"exclude each other":                         {"evacuate", "eu-1", "--dry-run", "--wait"},
		"is no evacuation":                           {"evacuations", "show", "eu-1"},
		"must be waiting, queued, seated or nothing": {"evacuations", "show", e.ID.String(), "--outcome", "lost"},
		"there is no evacuation 7d3f0c7e":            {"evacuations", "show", "7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"},
	} {
		require.Contains(t, director.Run(t, environ, "", args...).Stderr, want)
	}
}
