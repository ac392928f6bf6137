package roster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
)

// fleetOf makes a view of instances that are all equal but for their connections, 0, 1, 2 …, and what change does.
func fleetOf(n int, change func(i int, a *db.InstanceInfo)) *View {
	v := &View{}
	for i := range n {
		a := db.RosterAgent{InstanceInfo: db.InstanceInfo{
			ID: fmt.Sprintf("%016d", i), Status: db.AgentActive, AutoCreate: true, RoomTypes: []string{"duel"},
			Connections: int64(i), Labels: map[string]string{"zone": "a"},
		}}
		change(i, &a.InstanceInfo)
		v.byJoining = append(v.byJoining, newInstance(&a))
	}
	v.byRank = slices.SortedFunc(slices.Values(v.byJoining), (*Instance).compareRank)
	return v
}

// Pins a room that is compared on instances of which none is the best.
func TestTheBestInstancesAreNamed(t *testing.T) {
	t.Parallel()
	v := fleetOf(1000, func(i int, a *db.InstanceInfo) {
		switch i {
		case 0:
			a.Status = db.AgentDraining
		case 1:
			a.AutoCreate = false
		case 2:
			a.RoomTypes = []string{"race"}
		case 3:
			a.Capacity.MaxRooms = new(int32)
		case 4, 999:
			a.Labels = map[string]string{"zone": "b"}
		}
	})
	room := db.NewRoom{Type: "duel", RequiredLabels: map[string]string{"zone": "a"}}
	least := v.nearestAgents(room)
	require.Len(t, least, nearCount)
	require.Equal(t, fmt.Sprintf("%016d", 5), least[0])
	require.True(t, slices.IsSorted(least))
	room.SpreadStrategy = "most-loaded"
	require.Equal(t, fmt.Sprintf("%016d", 998), v.nearestAgents(room)[0])
	room.SpreadStrategy = "random"
	first := v.nearestAgents(room)
	require.NotEqual(t, first, v.nearestAgents(room), "each call draws anew")
	room.SpreadStrategy, room.RequiredLabels = "", map[string]string{"zone": "c"}
	require.Empty(t, v.nearestAgents(room))
}

// Pins a comparison by connections where shares of the maximum decide, and the other way around.
func TestMaximumsDecideHowInstancesAreCompared(t *testing.T) {
	t.Parallel()
	shares := func(i int, a *db.InstanceInfo) { a.Capacity.MaxConnections = new(int32(1000 * (i + 1) * (i + 1))) }
	require.Equal(t, fmt.Sprintf("%016d", 0), fleetOf(100, shares).nearestAgents(db.NewRoom{Type: "duel"})[0])
	require.Equal(t, fmt.Sprintf("%016d", 99),
		fleetOf(100, func(i int, a *db.InstanceInfo) {
			shares(i,
				a)
			a.Connections++
		}).nearestAgents(db.NewRoom{Type: "duel"})[0])
	require.Empty(t, fleetOf(100, func(i int, a *db.InstanceInfo) {
		if i > 0 {
			shares(i, a)
		}
	}).nearestAgents(db.NewRoom{Type: "duel"}), "some declare one, others do not")
}

// Pins a walk that ends before the best instance, or counts one twice: of any fleet it names what a comparison of all
// instances would.
func TestNearEqualsAComparisonOfAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := fleetOf(rapid.IntRange(0, 3*nearCount).Draw(t, "instances"), func(_ int, a *db.InstanceInfo) {
			a.Connections, a.AutoCreate = rapid.Int64Range(0, 3).Draw(t,
				"connections"), rapid.IntRange(0, 9).Draw(t, "hosts") > 0
			a.Rooms = make([]db.RoomInfo, rapid.IntRange(0, 2).Draw(t, "rooms"))
		})
		strategy := rapid.SampledFrom([]string{"least-loaded", "most-loaded", "random"}).Draw(t, "strategy")
		rank := func(i *Instance) []float64 {
			sign := map[string]float64{"least-loaded": 1, "most-loaded": -1, "random": 0}[strategy] // the least loaded are the best, or the most
			return []float64{sign * i.connectionLoad, sign * sign * float64(len(i.Rooms))}
		}
		hosts := slices.DeleteFunc(slices.Clone(v.byJoining), func(i *Instance) bool { return !i.autoCreate })
		slices.SortFunc(hosts, func(a, b *Instance) int { return slices.Compare(rank(a), rank(b)) })
		byID := map[string]*Instance{}
		for _, i := range hosts {
			byID[i.ID] = i
		}
		near := v.nearestAgents(db.NewRoom{Type: "duel", SpreadStrategy: strategy})
		require.Len(t, near, min(nearCount, len(hosts)))
		for n, id := range near {
			require.Contains(t, byID, id)
			require.Equal(t, rank(hosts[n]), rank(byID[id]))
			delete(byID, id)
		}
	})
}

func BenchmarkNear(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		v := fleetOf(n, func(i int, a *db.InstanceInfo) { a.Connections = 0 })
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				v.nearestAgents(db.NewRoom{Type: "duel"})
			}
		})
	}
}
