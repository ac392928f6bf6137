package db_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

const (
	costCallers  = 16
	costSessions = 40                             // of a caller in a round, each of two players
	costPlayers  = 2 * costCallers * costSessions // of a round, each of whom is seated, connects and leaves
	// A round is some hundred milliseconds of CPU, which the cache and the clock of a shared machine change by several
	// per cent: rounds with and without alternate, and the mean of their ratios counts.
	costPairs   = 20
	mostAllowed = 0.03 // of the CPU of the write path
)

// Pins a write path that pays for questions about the past: what migrations 00064 and 00065 added takes at most 3 % of
// the CPU of Postgres for placements, connects, leaves, closes, heartbeats and the vacuum of history. It runs in a long
// run alone, in a Postgres of its own.
//
//nolint:paralleltest // it measures CPU
func TestThePastCostsTheWritePathLittle(t *testing.T) {
	longtest.Only(t, "TestThePastIsAsItWasSeen")
	cluster := dbtest.NewMigratedCluster(t, pglocal.Options{Settings: map[string]string{"autovacuum": "off"}})
	with, without := newCostRounds(t, cluster, "as_of"), newCostRounds(t, cluster, "no_past")
	// The column since stays: other statements read it by now. It is eight bytes of rows that change rarely.
	without.Exec("DROP TRIGGER past_instances_are_kept ON instances")
	without.Exec("DROP TRIGGER past_keys_are_kept ON signing_keys")
	without.Exec("DROP INDEX session_history_by_begin, seat_history_by_begin")
	for range 3 { // plans, caches, and files that grow
		with.play()
		without.play()
	}
	var ratios []float64
	var spent [2]time.Duration
	for pair := range costPairs {
		var a, b time.Duration
		if pair%2 == 0 {
			a, b = with.play(), without.play()
		} else {
			b, a = without.play(), with.play()
		}
		spent[0], spent[1] = spent[0]+a, spent[1]+b
		ratios = append(ratios, math.Log(a.Seconds()/b.Seconds()))
	}
	var mean, squares float64
	for _, v := range ratios {
		mean += v / float64(len(ratios))
	}
	for _, v := range ratios {
		squares += (v - mean) * (v - mean)
	}
	n := float64(len(ratios))
	margin := 1.96 * math.Sqrt(squares/max(n-1, 1)/n) // half of the interval that has the true mean with 95 %
	players := costPlayers * len(ratios)
	t.Logf("CPU of Postgres a player: %s with, %s without what as-of needs; ratio %.4f, 95 %% between %.4f and %.4f (%d pairs of %d players)",
		spent[0]/time.Duration(players), spent[1]/time.Duration(players), math.Exp(mean), math.Exp(mean-margin),
		math.Exp(mean+margin), len(ratios), costPlayers)
	// The lower bound: a test fails where the cost is proved, and not where the machine was busy.
	require.Less(t, math.Exp(mean-margin), 1+mostAllowed)
}

// costRounds plays rounds of the write path in a database.
type costRounds struct {
	*bundle
	rounds int
}

func newCostRounds(t *testing.T, cluster *pglocal.Cluster, name string) *costRounds {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.URL("template1"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE postgres STRATEGY file_copy")
	require.NoError(t, err)
	b := &bundle{storetest.OnDatabase(t, cluster.URL(name)), t}
	for i := range costCallers {
		b.AddServer(fmt.Sprint("server-", i), 10_000)
	}
	return &costRounds{bundle: b}
}

// play seats players, two in a session, who connect and leave, and returns the CPU that Postgres took.
func (c *costRounds) play() time.Duration {
	c.t.Helper()
	c.rounds++
	began := c.postgresCPU()
	var callers sync.WaitGroup
	for caller := range costCallers {
		callers.Go(func() {
			for n := range costSessions {
				c.playOne(fmt.Sprintf("p-%d-%d-%d", c.rounds, caller, n))
			}
		})
	}
	callers.Wait()
	for _, table := range []string{"session_history", "seat_history", "sessions", "seats", "redeemed_tokens", "instances"} {
		c.Exec("VACUUM " + table) // which also summarizes the ranges of BRIN indexes
	}
	return c.postgresCPU() - began
}

func (c *costRounds) playOne(sub string) {
	ctx := c.t.Context()
	party := []string{sub, sub + "-friend"}
	p, err := c.Place(ctx, db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", Party: party, MaxPlayers: 2})
	if err != nil {
		c.t.Error(err)
		return
	}
	instance := strings.TrimSuffix(p.Endpoint, ":7777")
	report := db.SeatReport{InstanceRef: ref(instance), SessionID: p.SessionID}
	joins, leaves := report, report
	for _, player := range party {
		if _, err := c.Resolve(ctx, p.SessionHandle, player); err != nil {
			c.t.Error(err)
		}
		joins.JoinedPlayers = append(joins.JoinedPlayers, db.Joined{PlayerSub: player, JTI: "jti-" + player})
	}
	leaves.LeftPlayers, leaves.HasEnded = gone(party...), true
	for _, r := range []db.SeatReport{joins, leaves} {
		if _, err := c.ReportSeats(ctx, r); err != nil {
			c.t.Error(err)
		}
	}
	if _, err := c.Heartbeat(ctx, ref(instance), nil); err != nil {
		c.t.Error(err)
	}
}

// postgresCPU returns the CPU time of all processes of the Postgres that are alive; those of the rounds stay alive.
func (c *costRounds) postgresCPU() (total time.Duration) {
	c.t.Helper()
	for _, pid := range storetest.Values[int](c.DB, "SELECT pid FROM pg_stat_activity") {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil { // it has ended
			continue
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		require.NoError(c.t, err)
		total += time.Duration(ns)
	}
	return total
}
