package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins a limit whose violation is not reported. States that take long to arise are tested with given numbers.
func TestDoctorJudges(t *testing.T) {
	t.Parallel()
	seconds := func(s float64) *float64 { return &s }
	who := "pid 7"
	const gib = 1 << 30
	for state, findings := range map[string][]Finding{
		OK: {
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
		Warn: {
			judgeConnections(80, 100), judgeWriters(11, who, true), judgeWriters(0, "", false), judgeSlots([]slotLine{{"a", false, "reserved", 2 * gib}}),
			judgeSlots([]slotLine{{"a", false, "lost", 0}}), judgeClock(-6 * time.Second), judgeFleet(fleetSums{}, amnestyLine{}),
			judgeFleet(fleetSums{Expired: 9}, amnestyLine{Amnesty: true}), judgeFleet(fleetSums{Expired: 9}, amnestyLine{Amnesty: true, EndsIn: seconds(3)}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 80, Players: 39}), judgeSeats(fleetSums{Capacity: 100, Reserved: 95, Players: 90}),
			judgePartitions([]partitionLine{{"events", 1, 0}}), judgePartitions([]partitionLine{{"events", 7, 8192}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 8}}),
			judgeLobbies([]lobbySums{{Lease: 15}, {Renewed: seconds(1), Lease: 15, Connected: 10, CutOff: 6}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 9, TimedOut: 1}, {Lease: 15}}),
		},
		Fail: {
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
			require.Equal(t, state == OK, f.Do == "", "a check that is not ok has an instruction: %s", f.Says)
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
		{nil, OK, "there are none"},
		{[]poolCheck{works}, OK, "1 are planned"},
		{[]poolCheck{works, {Pool: "x", Provider: "edgegap", State: "active"}}, Fail, "no worker plans x (edgegap)"},
		{[]poolCheck{{Pool: "x", Provider: "docker", State: "active", PlanAge: &old}}, Fail, "no worker plans x (docker)"},
		{[]poolCheck{{Pool: "x", State: "version paused", Reason: &why, PlanAge: &recent}}, Warn, "paused: x: no image"},
		{[]poolCheck{{Pool: "x", State: "active", Failed: 2, Error: &why, PlanAge: &recent}}, Warn, "x: 2: no image"},
		{[]poolCheck{{Pool: "x", State: "full", Waiting: 3, PlanAge: &recent}}, Warn, "full: x (3 players wait)"},
		{[]poolCheck{{Pool: "x", State: "full", PlanAge: &recent}}, OK, "1 are planned"},
	} {
		f := judgePools(c.pools)
		require.Equal(t, c.state, f.State, f.Says)
		require.Contains(t, f.Says, c.says)
	}
	require.Equal(t, OK, judgeFleet(fleetSums{Pools: 1, Ended: 3}, amnestyLine{}).State)
}
