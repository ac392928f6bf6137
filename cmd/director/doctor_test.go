package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli"
)

// examined runs doctor, and returns its findings and the exit code.
func examined(t *testing.T, environ []string) (d diagnosis, found map[string]finding, code int) {
	t.Helper()
	r := director.Run(t, environ, "", "doctor", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &d), r.Stderr)
	found = map[string]finding{}
	for _, f := range d.Checks {
		found[f.Check] = f
	}
	return d, found, cli.ExitCode(r.Err)
}

// outsider is a connection of a program that is not the director.
func outsider(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "forgotten"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Pins a doctor that reports no fault of a broken installation, or a fault of a healthy one.
func TestDoctor(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storeOn(t, url)
	d, found, code := examined(t, environ)
	require.Equal(t, 1, code)
	require.Equal(t, stateFail, d.State)
	require.Equal(t, "no replica has ever served this database", found["replicas"].Says)
	require.Equal(t, "no worker has run on this database", found["workers"].Says)
	require.Contains(t, found["signing keys"].Says, "no key signs")
	require.Equal(t, stateWarn, found["fleet"].State)
	require.Len(t, d.Checks, len(checkups))

	start(t, serving(url, login(t).JWKS(), "DIRECTOR_WORK=true"), "serve").api()
	registerOn(t, s, "eu-1")
	require.Eventually(t, func() bool {
		_, found, _ = examined(t, environ)
		return found["workers"].State == stateOK && found["signing keys"].State == stateOK && found["replicas"].State == stateOK
	}, deadline, tick)
	for _, check := range []string{"database", "postgres", "pooler", "schema", "restored dump", "invariants", "partitions", "replication", "clock", "seats"} {
		require.Equal(t, stateOK, found[check].State, "%+v", found[check])
		require.Empty(t, found[check].Do)
	}
}

// Pins a failure that doctor does not find, or does not name first.
func TestDoctorFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK), storeOn(t, url)
	director.OK(t, environ, "keys", "rotate")
	registerOn(t, s, "eu-1")
	_, err := placeOn(t, s, "anna")
	require.NoError(t, err)
	for _, sql := range []string{
		`UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'`,
		`INSERT INTO worker_loops (loop, every, succeeded_at) VALUES ('reap', '1 s', now()), ('history', '10 min', now() - interval '2 hours')`,
		`UPDATE sessions SET player_count = 2`,
		`INSERT INTO events (kind, tx) VALUES ('from.elsewhere', '9000000000000000000')`,
		`DO $$ BEGIN EXECUTE 'DROP TABLE events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'); END $$`,
		`INSERT INTO events (kind, tx) VALUES ('stray', '9000000000000000000')`,
	} {
		_, err := s.Pool().Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	holder, waiter := outsider(t, url), outsider(t, url) // timeouts end long waits and transactions of a director's own connections
	_, err = holder.Exec(t.Context(), "BEGIN; LOCK TABLE idempotency_keys")
	require.NoError(t, err)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_, _ = waiter.Exec(t.Context(), "SELECT FROM idempotency_keys")
	}()

	var found map[string]finding
	var d diagnosis
	require.Eventually(t, func() bool {
		d, found, _ = examined(t, environ)
		return found["locks"].State == stateFail
	}, deadline, tick)
	require.Regexp(t, `1 wait for locks, the longest for \S+, blocked by pid \d+, forgotten, idle in transaction`, found["locks"].Says)
	require.Contains(t, found["restored dump"].Says, "transaction ids of another server")
	require.Contains(t, found["workers"].Says, "loops that fail: history (2h")
	require.Equal(t, "violated: seat count drift (1)", found["invariants"].Says)
	require.NotEqual(t, stateOK, found["partitions"].State)
	require.Equal(t, stateOK, found["replicas"].State)
	require.Equal(t, "restored dump: director migrate up", d.First)
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	<-waiting

	text := director.Run(t, environ, "", "doctor")
	require.Contains(t, text.Stdout, "fail  invariants     violated: seat count drift (1)\n                     > director invariants")
	require.Contains(t, text.Stdout, "\nFirst: restored dump: director migrate up\n")
	require.Equal(t, "director: a check failed\n", text.Stderr)
}

// Pins checks that run, and fail, although an earlier failure makes them impossible.
func TestDoctorStopsWhereNothingElseCanBeSeen(t *testing.T) {
	t.Parallel()
	d, found, code := examined(t, env("DATABASE_URL=postgres://u:geheim@127.0.0.1:1/d"))
	require.Equal(t, 1, code)
	require.Len(t, d.Checks, 1)
	require.Contains(t, d.First, "check DATABASE_URL")
	require.NotContains(t, found["database"].Says, "geheim")

	d, found, _ = examined(t, env("DATABASE_URL="+dbtest.Empty(t)))
	require.Equal(t, "director migrate up", found["schema"].Do)
	require.Equal(t, "schema", d.Checks[len(d.Checks)-1].Check)
}

// Pins a limit whose violation is not reported. States that take long to arise are tested with given numbers.
func TestDoctorJudges(t *testing.T) {
	t.Parallel()
	seconds := func(s float64) *float64 { return &s }
	who := "pid 7"
	const gib = 1 << 30
	for state, findings := range map[string][]finding{
		stateOK: {
			judgeConnections(79, 100), judgeWriters(9, who, true), judgeSlots([]slotLine{{"a", true, "reserved", 2 * gib}}), judgeClock(-5 * time.Second),
			judgeSnapshots([]snapshotLine{{"transaction", 1, 60, 9_000_000, &who}, {"replication slot", 1, 0, 1_000_000, &who}}),
			judgeReplicas(amnestyLine{Pulse: seconds(14), Lease: 15}), judgeWorkers([]loopLine{{"history", 1500, false}, {"reap", 3, false}}),
			judgeKeys([]keyTurn{{"a", "signing", -9, 9}, {"b", "next", 9, 99}}), judgeFleet(fleetSums{Alive: 2, Draining: 1}, amnestyLine{}), judgeFleet(fleetSums{Agents: 2}, amnestyLine{}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 79}), judgeSeats(fleetSums{}), judgeSeats(fleetSums{Capacity: 100, Reserved: 90, Players: 80}),
			judgePartitions([]partitionLine{{"events", 2, 0}}), judgeAgents(nil), judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15}}), judgeAgents([]agentSums{{Lease: 15}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 10, Connected: 9, Draining: 8}}),
			judgeLobbies(nil), judgeLobbies([]lobbySums{{Lease: 15}, {Renewed: seconds(1), Lease: 15}}),
			judgeLobbies([]lobbySums{{Renewed: seconds(1), Lease: 15, Connected: 10, CutOff: 5, Expired: 3, Overdue: seconds(29)}}),
		},
		stateWarn: {
			judgeConnections(80, 100), judgeWriters(11, who, true), judgeWriters(0, "", false), judgeSlots([]slotLine{{"a", false, "reserved", 2 * gib}}),
			judgeSlots([]slotLine{{"a", false, "lost", 0}}), judgeClock(-6 * time.Second), judgeFleet(fleetSums{}, amnestyLine{}),
			judgeFleet(fleetSums{Expired: 9}, amnestyLine{Amnesty: true}), judgeFleet(fleetSums{Expired: 9}, amnestyLine{Amnesty: true, EndsIn: seconds(3)}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 80, Players: 39}), judgeSeats(fleetSums{Capacity: 100, Reserved: 95, Players: 90}),
			judgePartitions([]partitionLine{{"events", 1, 0}}), judgePartitions([]partitionLine{{"events", 7, 8192}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 8}}),
			judgeLobbies([]lobbySums{{Lease: 15}, {Renewed: seconds(1), Lease: 15, Connected: 10, CutOff: 6}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 9, TimedOut: 1}, {Lease: 15}}),
		},
		stateFail: {
			judgeConnections(95, 100), judgeWriters(61, who, true), judgeSlots([]slotLine{{"a", true, "reserved", 11 * gib}}), judgeClock(31 * time.Second),
			judgeSnapshots([]snapshotLine{{"transaction", 1, 61, 1, &who}}), judgeSnapshots([]snapshotLine{{"prepared transaction", 1, 61, 1, &who}}),
			judgeSnapshots([]snapshotLine{{"replication slot", 1, 0, 1_000_001, &who}}), judgeReplicas(amnestyLine{}),
			judgeReplicas(amnestyLine{Pulse: seconds(16), Lease: 15}), judgeWorkers(nil), judgeWorkers([]loopLine{{"history", 61, false}, {"reap", 61, true}}),
			judgeWorkers([]loopLine{{"rotate", 61, true}, {"reap", 3, false}}), judgeKeys(nil), judgeKeys([]keyTurn{{"a", "signing", -9, 9}}),
			judgeKeys([]keyTurn{{"a", "signing", -9, 9}, {"b", "next", 11, 99}}), judgeFleet(fleetSums{Expired: 1}, amnestyLine{}),
			judgeFleet(fleetSums{Ended: 1}, amnestyLine{}),
			judgeFleet(fleetSums{Alive: 2, Draining: 2}, amnestyLine{}), judgePartitions([]partitionLine{{"events", -1, 0}}),
			judgeLobbies([]lobbySums{{Lease: 15, Suspended: 1}}), judgeLobbies([]lobbySums{{Renewed: seconds(16), Lease: 15, Connected: 1}}),
			judgeLobbies([]lobbySums{{Renewed: seconds(1), Lease: 15, Connected: 9, Expired: 1, Overdue: seconds(31)}, {Lease: 15}}),
			judgeAgents([]agentSums{{Lease: 15, Agents: 1}}), judgeAgents([]agentSums{{Renewed: seconds(16), Lease: 15, Agents: 1, Connected: 1}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 4}}),
			judgeAgents([]agentSums{{Lease: 15}, {Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 9, Draining: 9}}),
		},
	} {
		for _, f := range findings {
			require.Equal(t, state, f.State, f.Says)
			require.NotEmpty(t, f.Says)
			require.Equal(t, state == stateOK, f.Do == "", "a check that is not ok has an instruction: %s", f.Says)
		}
	}
}

// Pins a doctor that reports no server that does not start, or one whose pool works.
func TestDoctorJudgesPools(t *testing.T) {
	t.Parallel()
	recent, old, why := 1.0, 61.0, "no image"
	works := poolCheck{Pool: "eu/arena/v1", Provider: "edgegap", State: "active", PlanAge: &recent}
	for _, c := range []struct {
		pools       []poolCheck
		state, says string
	}{
		{nil, stateOK, "there are none"},
		{[]poolCheck{works}, stateOK, "1 are planned"},
		{[]poolCheck{works, {Pool: "x", Provider: "edgegap", State: "active"}}, stateFail, "no worker plans x (edgegap)"},
		{[]poolCheck{{Pool: "x", Provider: "docker", State: "active", PlanAge: &old}}, stateFail, "no worker plans x (docker)"},
		{[]poolCheck{{Pool: "x", State: "version paused", Reason: &why, PlanAge: &recent}}, stateWarn, "paused: x: no image"},
		{[]poolCheck{{Pool: "x", State: "active", Failed: 2, Error: &why, PlanAge: &recent}}, stateWarn, "x: 2: no image"},
		{[]poolCheck{{Pool: "x", State: "full", Waiting: 3, PlanAge: &recent}}, stateWarn, "full: x (3 players wait)"},
		{[]poolCheck{{Pool: "x", State: "full", PlanAge: &recent}}, stateOK, "1 are planned"},
	} {
		f := judgePools(c.pools)
		require.Equal(t, c.state, f.State, f.Says)
		require.Contains(t, f.Says, c.says)
	}
	require.Equal(t, stateOK, judgeFleet(fleetSums{Pools: 1, Ended: 3}, amnestyLine{}).State)
}
