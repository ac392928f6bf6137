package db_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

func refusal(player, code string, ages ...time.Duration) db.Refusals {
	r := db.Refusals{Latest: fault.Refusal{Player: player, Call: "POST /matchmake", Code: code, Region: "eu", Mode: "duel", Detail: "full", RequestID: "r1"}, Times: len(ages)}
	r.FirstAge, r.LastAge = ages[0], ages[len(ages)-1]
	return r
}

// Refusals of an hour are one row, whichever replica records them, with the first and the latest time; others are rows
// of their own.
func TestRefusalsOfAnHourAreOneRow(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	record := func(all ...db.Refusals) { require.NoError(t, c.RecordRefusals(t.Context(), all)) }
	record()
	record(refusal("bob", "no_capacity", 0), refusal("ann", "no_capacity", 0, 0), refusal("ann", "unavailable", 0))
	later := refusal("ann", "no_capacity", 0)
	later.Latest.Detail, later.Latest.Region, later.Latest.Mode, later.Latest.RequestID = "still full", "", "", ""
	record(later)
	record(refusal("ann", "no_capacity", 26*time.Hour, 25*time.Hour))

	v, err := c.playerOf("ann", opsview.Page{Limit: 50})
	require.NoError(t, err)
	require.Len(t, v.Refusals, 3, "%+v", v.Refusals)
	all := v.Refusals
	require.Equal(t, opsview.Refusal{
		Player: "ann", Hour: all[0].Hour, Call: "POST /matchmake", Code: "no_capacity", Detail: "still full", Times: 3, FirstAt: all[0].FirstAt, LastAt: all[0].LastAt,
	}, all[0])
	require.False(t, all[0].FirstAt.After(all[0].LastAt))
	require.Equal(t, opsview.Refusal{
		Player: "ann", Hour: all[1].Hour, Call: "POST /matchmake", Code: "unavailable", Detail: "full", Region: "eu", Mode: "duel", Times: 1,
		FirstAt: all[1].FirstAt, LastAt: all[1].LastAt, RequestID: "r1",
	}, all[1])
	require.Equal(t, time.Hour, all[2].LastAt.Sub(all[2].FirstAt))
	require.Greater(t, all[0].LastAt.Sub(all[2].LastAt), 24*time.Hour)
}

// Replicas that record the same players at the same time, in any order, neither deadlock nor lose one.
func TestReplicasRecordTheSamePlayers(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	const replicas, rounds, players = 6, 10, 200
	var running sync.WaitGroup
	for n := range replicas {
		running.Go(func() {
			all := make([]db.Refusals, players)
			for i := range all {
				all[i] = refusal("p"+strconv.Itoa(i), "no_capacity", 0)
			}
			if n%2 == 0 {
				slices.Reverse(all)
			}
			for range rounds {
				if err := c.RecordRefusals(t.Context(), all); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	var rows, times int
	require.NoError(t, c.Pool().QueryRow(t.Context(), "SELECT count(*), sum(times) FROM ops.refusals").Scan(&rows, &times))
	require.Equal(t, replicas*rounds*players, times)
	require.Equal(t, players, rows)
}
