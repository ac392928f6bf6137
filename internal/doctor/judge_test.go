package doctor

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/matching/explainer"
)

// Pins a limit whose violation is not reported. States that take long to arise are tested with given numbers.
func TestDoctorJudges(t *testing.T) {
	t.Parallel()
	seconds := func(s float64) *float64 { return &s }
	who := "pid 7"
	const gib = 1 << 30
	pulse := func(s float64) amnestyLine { return amnestyLine{Pulse: &s, Lease: 15} }
	one := groupOf([]processLine{{"director serve a/1", 9, seconds(14), seconds(99)}}, "serve")
	beside := func(p processLine) processGroup {
		return groupOf([]processLine{{"director serve a/1", 9, seconds(1), seconds(1)}, p}, "serve")
	}
	for state, findings := range map[string][]Finding{
		OK: {
			judgeKEKs(nil), judgeKEKs([]kekUse{{Fingerprint: "a", Credentials: 3}}),
			judgeKEKs([]kekUse{{Fingerprint: "a", Credentials: 3, Processes: 2, First: 1}}),
			judgeKEKs([]kekUse{{Fingerprint: "a", Others: 3, Processes: 2}}),
			judgeEnrolments(enrolmentSums{Sharing: 9}), judgeEnrolments(enrolmentSums{Enrolments: 1, Enrolled: 3}),
			judgeEnrolments(enrolmentSums{Enrolments: 1, Enrolled: 3, Ending: "eu/a", EndingServers: 3,
				EndsIn: 3*24*3600 + 1}),
			judgeDrains(nil), judgeDrains([]opsview.Drain{{Target: "host", Value: "10.0.0.7", Actor: "console:ada",
				Age: 7*24*time.Hour - time.Minute, Instances: 3}}),
			judgeConnections(79, 100), judgeWriters(9, who, true),
			judgeSlots([]slotLine{{"a", true, "reserved", 2 * gib}}), judgeClock(-5 * time.Second),
			judgeSnapshots([]opsview.Snapshot{{Kind: "transaction", Age: 60 * time.Second, Transactions: 9_000_000,
				Oldest: who}, {Kind: "replication slot", Transactions: 1_000_000, Oldest: who}}),
			judgeReplicas(one, pulse(999)), judgeReplicas(processGroup{}, pulse(14)),
			judgeReplicas(beside(processLine{"director serve a/2", 0, nil, seconds(60)}), pulse(1)),
			judgeReplicas(beside(processLine{"director serve b/2", 0, nil, seconds(601)}), pulse(1)),
			judgeReplicas(beside(processLine{"director serve b/2", 0, nil, seconds(15)}), pulse(1)),
			judgeWorkers([]opsview.WorkerLoop{{Loop: "history", Age: 1500 * time.Second, Late: false},
				{Loop: "reap", Age: 3 * time.Second, Late: false}}, processGroup{}),
			judgeKeys([]keyTurn{{"a", "signing", -9, 9}, {"b", "next", 9, 99}}),
			judgeFleet(fleetSums{Alive: 2, Draining: 1}, amnestyLine{}),
			judgeFleet(fleetSums{Agents: 2}, amnestyLine{}),
			judgeFleet(fleetSums{}, amnestyLine{}),
			judgeFleet(fleetSums{Alive: 3, Heartbeat: seconds(14)},
				amnestyLine{Amnesty: true, EndsIn: seconds(3), Lease: 15}),
			judgeFleet(fleetSums{Alive: 99, Lost: 11}, amnestyLine{}), judgeRefusals(nil),
			judgeRefusals([]denialLine{{Everyone: 2}}), judgeRefusals([]denialLine{{Everyone: 49, Seated: 951}}),
			judgeTickets(queueLine{Tickets: 9, Oldest: 300}, explainer.Survey{}), judgeKeySets(nil),
			writability{Allowed: false}.judgeUntried(),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 79}), judgeSeats(fleetSums{}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 90, Players: 80}),
			judgePartitions([]opsview.Partition{{TableName: "events", DaysAhead: 2, DefaultBytes: 0}}),
			judgeAgents(nil), judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15}}),
			judgeAgents([]agentSums{{Lease: 15}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 10, Connected: 9, Draining: 8}}),
			judgeLobbies(nil), judgeLobbies([]lobbySums{{Lease: 15}, {Renewed: seconds(1), Lease: 15}}),
			judgeLobbies([]lobbySums{{Renewed: seconds(1), Lease: 15, Connected: 10, CutOff: 5, Expired: 3,
				Overdue: seconds(29)}}),
		},
		Warn: {
			judgeKEKs([]kekUse{{Fingerprint: "a", Credentials: 3, Processes: 2},
				{Fingerprint: "b", Credentials: 1, Processes: 2, First: 2}}),
			judgeEnrolments(enrolmentSums{Enrolments: 1, Enrolled: 3, Sharing: 1}),
			judgeEnrolments(enrolmentSums{Enrolled: 3, Ending: "eu/a", EndingServers: 3, EndsIn: -1}),
			judgeEnrolments(enrolmentSums{Enrolments: 1, Enrolled: 3, Ending: "eu/a", EndingServers: 3,
				EndsIn: 3*24*3600 - 1}),
			judgeEnrolments(enrolmentSums{Enrolments: 1, Enrolled: 3, WithoutPlace: "eu/a"}),
			judgeDrains([]opsview.Drain{
				{Target: "host", Value: "10.0.0.7", Actor: "console:ada", Age: 7 * 24 * time.Hour},
				{Target: "instance", Value: "a", Actor: "sql:bob", Age: time.Second, Instances: 1},
			}),
			judgeConnections(80, 100), judgeWriters(11, who, true), judgeWriters(0, "", false),
			judgeSlots([]slotLine{{"a", false, "reserved", 2 * gib}}),
			judgeSlots([]slotLine{{"a", false, "lost", 0}}), judgeClock(-6 * time.Second),
			judgeFleet(fleetSums{Last: seconds(3601)}, amnestyLine{}),
			judgeReplicas(beside(processLine{"director serve a/2", 9, seconds(16), seconds(3)}), pulse(1)),
			judgeReplicas(beside(processLine{"director serve b/2", 0, nil, seconds(16)}), pulse(1)),
			judgeWorkers([]opsview.WorkerLoop{{Loop: "reap", Age: 3 * time.Second, Late: false}},
				groupOf([]processLine{{"director work a/2", 9, seconds(16), nil}}, "work")),
			judgeFleet(fleetSums{Alive: 79, Lost: 10}, amnestyLine{}), judgeRefusals([]denialLine{{Everyone: 3}}),
			judgeRefusals([]denialLine{{Everyone: 50, Seated: 950}}),
			judgeTickets(queueLine{Tickets: 9, Oldest: 301}, explainer.Survey{}),
			judgeTickets(queueLine{Tickets: 9},
				explainer.Survey{Tickets: 9, Lacking: []explainer.Lacking{{Tickets: 4}}}),
			judgeKeySets([]reportedTrouble{{State: Warn, Remedy: "x"}}), writability{Standby: true}.judgeUntried(),
			judgeFleet(fleetSums{Expired: 9}, amnestyLine{Amnesty: true}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 80, Players: 39}),
			judgeSeats(fleetSums{Capacity: 100, Reserved: 95, Players: 90}),
			judgePartitions([]opsview.Partition{{TableName: "events", DaysAhead: 1, DefaultBytes: 0}}),
			judgePartitions([]opsview.Partition{{TableName: "events", DaysAhead: 7, DefaultBytes: 8192}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 8}}),
			judgeLobbies([]lobbySums{{Lease: 15}, {Renewed: seconds(1), Lease: 15, Connected: 10, CutOff: 6}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 9, TimedOut: 1},
				{Lease: 15}}),
		},
		Fail: {
			judgeKEKs([]kekUse{{Fingerprint: "a", Credentials: 3, Processes: 2},
				{Fingerprint: "b", Credentials: 1, Processes: 2, Lacking: []string{"director serve a/1"}}}),
			judgeConnections(95, 100), judgeWriters(61, who, true),
			judgeSlots([]slotLine{{"a", true, "reserved", 11 * gib}}), judgeClock(31 * time.Second),
			judgeSnapshots([]opsview.Snapshot{{Kind: "transaction", Age: 61 * time.Second, Transactions: 1,
				Oldest: who}}), judgeSnapshots([]opsview.Snapshot{{Kind: "prepared transaction", Age: 61 * time.Second,
				Transactions: 1, Oldest: who}}),
			judgeSnapshots([]opsview.Snapshot{{Kind: "replication slot", Transactions: 1_000_001, Oldest: who}}),
			judgeReplicas(processGroup{}, amnestyLine{}),
			judgeReplicas(processGroup{}, pulse(16)),
			judgeReplicas(groupOf([]processLine{{"director serve a/2", 9, seconds(16), nil}}, "serve"), pulse(1)),
			judgeWorkers(nil, processGroup{}), judgeWorkers([]opsview.WorkerLoop{{Loop: "history", Age: 61 * time.Second,
				Late: false}, {Loop: "reap", Age: 61 * time.Second, Late: true}}, processGroup{}),
			judgeWorkers([]opsview.WorkerLoop{{Loop: "rotate", Age: 61 * time.Second, Late: true},
				{Loop: "reap", Age: 3 * time.Second, Late: false}}, processGroup{}),
			judgeFleet(fleetSums{Alive: 4, Heartbeat: seconds(16)}, amnestyLine{Amnesty: true, Lease: 15}),
			judgeFleet(fleetSums{Alive: 4, Heartbeat: seconds(16)}, amnestyLine{Lease: 15}),
			judgeFleet(fleetSums{Alive: 81, Lost: 120}, amnestyLine{}),
			judgeRefusals([]denialLine{{Everyone: 10, Seated: 10}}),
			judgeTickets(queueLine{Tickets: 1, Unowned: []string{"a"}}, explainer.Survey{}),
			judgeTickets(queueLine{Tickets: 217},
				explainer.Survey{Tickets: 217, Lacking: []explainer.Lacking{{Tickets: 72}}}),
			judgeKeySets([]reportedTrouble{{State: Warn, Remedy: "x"}, {State: Fail, Remedy: "y"}}),
			writability{Syncing: 1}.judgeUntried(), judgeKeys(nil), judgeKeys([]keyTurn{{"a", "signing", -9, 9}}),
			judgeKeys([]keyTurn{{"a", "signing", -9, 9}, {"b", "next", 11, 99}}),
			judgeFleet(fleetSums{Expired: 1}, amnestyLine{}),
			judgeFleet(fleetSums{Ended: 1}, amnestyLine{}),
			judgeFleet(fleetSums{Alive: 2, Draining: 2}, amnestyLine{}),
			judgePartitions([]opsview.Partition{{TableName: "events", DaysAhead: -1, DefaultBytes: 0}}),
			judgeLobbies([]lobbySums{{Lease: 15, Suspended: 1}}),
			judgeLobbies([]lobbySums{{Renewed: seconds(16), Lease: 15, Connected: 1}}),
			judgeLobbies([]lobbySums{{Renewed: seconds(1), Lease: 15, Connected: 9, Expired: 1, Overdue: seconds(31)},
				{Lease: 15}}),
			judgeAgents([]agentSums{{Lease: 15, Agents: 1}}),
			judgeAgents([]agentSums{{Renewed: seconds(16), Lease: 15, Agents: 1, Connected: 1}}),
			judgeAgents([]agentSums{{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 4}}),
			judgeAgents([]agentSums{{Lease: 15},
				{Renewed: seconds(9), Lease: 15, Agents: 9, Connected: 9, Draining: 9}}),
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
	works := poolCheck{Pool: "eu/arena/v1", Provider: "edgegap", State: "active", PlanAge: &recent, ProviderWorkers: 1}
	for _, c := range []struct {
		pools       []poolCheck
		state, says string
	}{
		{nil, OK, "there are none"},
		{[]poolCheck{works}, OK, "1 are planned"},
		{[]poolCheck{works, {Pool: "x", Provider: "edgegap", State: "active"}}, Fail, "no worker plans x (edgegap)"},
		{[]poolCheck{{Pool: "x", Provider: "docker", State: "active", PlanAge: &old}}, Fail,
			"no worker plans x (docker)"},
		{[]poolCheck{works, {Pool: "x", Provider: "docker", State: "active", PlanAge: &recent}}, Warn,
			"no running worker reports the provider of x (docker)"},
		{[]poolCheck{{Pool: "x", Provider: "docker", State: "active", PlanAge: &old, Overdue: 2}}, Fail,
			"no running worker has the provider of x (docker, 2 servers wait for a worker)"},
		{[]poolCheck{{Pool: "x", Provider: "docker", State: "off", PlanAge: &recent}}, OK, "1 are planned"},
		{[]poolCheck{{Pool: "x", State: "version paused", Reason: why, PlanAge: &recent, ProviderWorkers: 1}}, Warn,
			"paused: x: no image"},
		{[]poolCheck{{Pool: "x", State: "active", Failed: 2, Error: why, PlanAge: &recent, ProviderWorkers: 1}}, Warn,
			"x: 2: no image"},
		{[]poolCheck{{Pool: "x", State: "full", Waiting: 3, PlanAge: &recent, ProviderWorkers: 1}}, Warn,
			"full: x (3 players wait)"},
		{[]poolCheck{{Pool: "x", State: "full", PlanAge: &recent, ProviderWorkers: 1}}, OK, "1 are planned"},
	} {
		f := judgePools(c.pools)
		require.Equal(t, c.state, f.State, f.Says)
		require.Contains(t, f.Says, c.says)
	}
	require.Equal(t, OK, judgeFleet(fleetSums{Pools: 1, Ended: 3}, amnestyLine{}).State)
}

// Pins a finding that sends an operator to a section of the runbook that is not there.
func TestEachCheckNamesASectionOfTheRunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	text := strings.ReplaceAll(string(page), "`", "")
	for _, c := range checkups {
		require.Contains(t, text, "\n## "+c.runbookSection+"\n", c.name)
	}
	require.Contains(t, text, "\n## "+frozenSection+"\n")
}

// Pins a diagnosis that leaves out the checks for which no time was left, so that nothing seems to be wrong.
func TestAnExaminationWithoutTimeSaysSo(t *testing.T) {
	t.Parallel()
	store, err := db.Open(t.Context(), db.Config{URL: "postgres://nobody@127.0.0.1:1/none"})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	ended, end := context.WithCancel(t.Context())
	end()
	d := Doctor{Store: store}.Examine(ended)
	require.Len(t, d.Checks, len(checkups))
	for _, f := range d.Checks {
		require.Equal(t, Warn, f.State)
		require.Contains(t, f.Says, "not known")
		require.NotEmpty(t, f.Section)
	}
}
