package roster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
)

var someReplicas = []uuid.UUID{{1}, {2}, {3}}

// someAgent draws the row of an agent. There are few ids, so that pages often change the same agent.
func someAgent(t *rapid.T, tx uint64) db.RosterAgent {
	id := fmt.Sprintf("%016x", rapid.IntRange(0, 11).Draw(t, "id"))
	a := db.RosterAgent{
		ReplicaID: rapid.SampledFrom(someReplicas).Draw(t, "replica"), JoinedAt: time.Unix(int64(id[15]%3), 0), ChangedTx: tx,
		HasMissed: rapid.Bool().Draw(t, "missed"), IsDoubted: rapid.IntRange(0, 4).Draw(t, "doubted") == 0,
		HasLeft: rapid.IntRange(0, 4).Draw(t, "left") == 0,
	}
	a.InstanceInfo = db.InstanceInfo{ID: id, Name: rapid.String().Draw(t, "name"), Labels: map[string]string{},
		RoomTypes: []string{}, Rooms: []db.RoomInfo{}, LastSyncAt: int64(tx)}
	for _, r := range rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 4, rapid.ID).Draw(t, "rooms") {
		kind := rapid.SampledFrom([]string{"lobby", "match", "<&>\u2028\x00\""}).Draw(t, "type")
		a.InstanceInfo.Rooms = append(a.InstanceInfo.Rooms,
			db.RoomInfo{ID: fmt.Sprintf("r%d~%s", r, id), Type: kind, Connections: int32(r), InstanceID: id})
		a.InstanceInfo.Connections += int64(r)
	}
	slices.SortFunc(a.InstanceInfo.Rooms, func(x, y db.RoomInfo) int { return strings.Compare(x.ID, y.ID) })
	a.InstanceInfo.RoomTypes = append(a.InstanceInfo.RoomTypes,
		rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3, rapid.ID).Draw(t, "types")...)
	if rapid.Bool().Draw(t, "declared") {
		a.InstanceInfo.Capacity.MaxConnections = new(rapid.Int32Range(0, 9).Draw(t, "most"))
	}
	a.InstanceInfo.Labels["region"] = rapid.SampledFrom([]string{"eu", "us"}).Draw(t, "region")
	return a
}

// A copy that was updated change by change equals a copy made from the last rows: lists, totals, hash, and lookups by
// id.
func TestChangesEqualAFullReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, latest := newFleet(), map[string]db.RosterAgent{}
		views := map[*View]string{}
		for tx := range uint64(rapid.IntRange(1, 12).Draw(t, "pages")) {
			page := &db.RosterPage{}
			for _, id := range someReplicas {
				if rapid.IntRange(0, 5).Draw(t, "known") > 0 {
					page.Replicas = append(page.Replicas,
						db.RosterReplica{ID: id, IsLive: rapid.IntRange(0, 3).Draw(t, "live") > 0,
							HeardSince: time.UnixMilli(int64(tx + 1))})
				}
			}
			for range rapid.IntRange(0, 6).Draw(t, "agents") {
				page.Agents = append(page.Agents, someAgent(t, tx+1))
			}
			f.applyPage(page)
			for _, a := range page.Agents {
				latest[a.InstanceInfo.ID] = a
			}
			fresh := newFleet()
			all := &db.RosterPage{Replicas: page.Replicas}
			for _, a := range latest {
				all.Agents = append(all.Agents, a)
			}
			fresh.applyPage(all)
			sameView(t, fresh.currentView(), f.currentView())
			sameIndexes(t, fresh, f)
			views[f.currentView()] = text(f.currentView())
		}
		for v, before := range views {
			require.Equal(t, before, text(v), "a view has changed")
		}
	})
}

func idsOf(list []*Instance) (ids []string) {
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids
}

func text(v *View) string {
	list, _ := v.AppendInstances(nil, Page{})
	return string(v.Stats().AppendJSON(list))
}

func sameView(t require.TestingT, want, got *View) {
	require.Equal(t, text(want), text(got))
	require.Equal(t, idsOf(want.byRank), idsOf(got.byRank))
	require.True(t, slices.IsSortedFunc(got.byJoining, (*Instance).compareJoining))
}

func sameIndexes(t require.TestingT, want, got *fleet) {
	require.Len(t, got.roomByID, len(want.roomByID))
	for id, p := range want.roomByID {
		require.Equal(t, string(p.instance.roomJSON(p.roomIndex)),
			string(got.roomByID[id].instance.roomJSON(got.roomByID[id].roomIndex)))
	}
	require.Len(t, got.listedByID, len(want.listedByID))
	for id, i := range want.listedByID {
		require.Equal(t, i.contentHash, got.listedByID[id].contentHash)
	}
}

// The JSON equals that of encoding/json without HTML escaping; the structs' fields are in the order of the protocol.
func TestJSONIsThatOfTheStructs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := someAgent(t, 7)
		limit := rapid.Int32().Draw(t, "limit")
		a.InstanceInfo.Capacity.MaxRooms, a.InstanceInfo.Status, a.InstanceInfo.AutoCreate, a.InstanceInfo.ProtocolVersion = &limit, rapid.String().Draw(t, "status"), limit > 0, 3
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(a.InstanceInfo))
		// encoding/json escapes two characters for old versions of JavaScript.
		expected := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", "\n", "").Replace(want.String())
		require.Equal(t, expected, string(AppendInstanceInfo(nil, &a.InstanceInfo)))
		require.Equal(t, expected, string(newInstance(&a).appendJSON(nil, 0)))
	})
}

// The state hash does not cover lastSyncAt, because a heartbeat must not change entity tags.
func TestTheHashOfAHeartbeat(t *testing.T) {
	t.Parallel()
	a := db.RosterAgent{InstanceInfo: db.InstanceInfo{ID: "a", LastSyncAt: 1}, ReplicaID: someReplicas[0]}
	i := newInstance(&a)
	a.InstanceInfo.LastSyncAt = 2
	require.Equal(t, i.contentHash, newInstance(&a).contentHash)
	require.Contains(t, string(i.appendJSON(nil, 5)), `"lastSyncAt":5,`)
	i.hasMissed = true
	require.Contains(t, string(i.appendJSON(nil, 5)), `"lastSyncAt":1,`)
	a.InstanceInfo.Status = "draining"
	require.NotEqual(t, i.contentHash, newInstance(&a).contentHash)
}

func TestAnEmptyFleet(t *testing.T) {
	t.Parallel()
	v := newFleet().currentView()
	require.JSONEq(t, `{"instances":0,"rooms":0,"connections":0,"roomTypes":[],"stateHash":"4f53cda18c2baa0c"}`, string(v.Stats().AppendJSON(nil)))
	list, next := v.AppendInstances(nil, Page{Limit: 5})
	require.Equal(t, "[]", string(list)+next)
	list, next = v.AppendRooms(nil, Filter{}, Page{})
	require.Equal(t, "[]", string(list)+next)
}
