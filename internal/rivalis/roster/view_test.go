package roster

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
)

// AppendRooms returns the same rooms as a simple filter, in one list and in pages of any size.
func TestRoomsByFilterAndPage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		page := &db.RosterPage{}
		for _, id := range someReplicas {
			page.Replicas = append(page.Replicas, db.RosterReplica{ID: id, IsLive: true})
		}
		seen := map[string]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "agents") {
			a := someAgent(t, 1)
			a.HasLeft, a.IsDoubted = false, false
			if !seen[a.InstanceInfo.ID] {
				page.Agents = append(page.Agents, a)
			}
			seen[a.InstanceInfo.ID] = true
		}
		shown := newFleet()
		shown.applyPage(page)
		slices.SortFunc(page.Agents, func(a, b db.RosterAgent) int { return newInstance(&a).compareJoining(newInstance(&b)) })
		v, agents := shown.currentView(), page.Agents
		var f Filter
		if rapid.Bool().Draw(t, "by type") {
			f.Type = new(rapid.SampledFrom([]string{"lobby", "match", "none"}).Draw(t, "type"))
		}
		if rapid.IntRange(0, 3).Draw(t, "by instance") == 0 {
			f.InstanceID = new(someAgent(t, 1).InstanceInfo.ID)
		}
		if rapid.Bool().Draw(t, "by label") {
			f.Labels = []Label{{"region", rapid.SampledFrom([]string{"eu", "us", "none"}).Draw(t, "label")}}
		}
		want := []db.RoomInfo{}
		for _, a := range agents {
			for _, r := range a.InstanceInfo.Rooms {
				if (f.Type == nil || *f.Type == r.Type) &&
					(f.InstanceID == nil || *f.InstanceID == a.InstanceInfo.ID) &&
					(len(f.Labels) == 0 || a.InstanceInfo.Labels["region"] == f.Labels[0].Value) {
					want = append(want, r)
				}
			}
		}
		require.Equal(t, want, pages(t, 0, func(p Page) ([]byte, string) { return v.AppendRooms(nil, f, p) },
			db.RoomInfo{}))
		limit := rapid.IntRange(1, 9).Draw(t, "limit")
		require.Equal(t, want, pages(t, limit, func(p Page) ([]byte, string) { return v.AppendRooms(nil, f, p) },
			db.RoomInfo{}))
		all := pages(t, limit, func(p Page) ([]byte, string) { return v.AppendInstances(nil, p) }, db.InstanceInfo{})
		require.Len(t, all, len(agents))
		for i := range agents {
			require.Equal(t, agents[i].InstanceInfo, all[i])
		}
	})
}

// pages reads a list page by page.
func pages[T any](t require.TestingT, limit int, list func(Page) ([]byte, string), _ T) []T {
	all := []T{}
	for p := (Page{Limit: limit}); ; {
		text, next := list(p)
		var page []T
		require.NoError(t, json.Unmarshal(text, &page))
		all = append(all, page...)
		if next == "" {
			return all
		}
		require.Len(t, page, limit)
		p.Cursor = next
	}
}

// A cursor whose instance has left continues with the next instance.
func TestAPageAfterWhatHasLeft(t *testing.T) {
	t.Parallel()
	f := newFleet()
	page := &db.RosterPage{Replicas: []db.RosterReplica{{ID: someReplicas[0], IsLive: true}}}
	for _, id := range []string{"a", "b", "c"} {
		page.Agents = append(page.Agents,
			db.RosterAgent{ReplicaID: someReplicas[0],
				InstanceInfo: db.InstanceInfo{ID: id, Rooms: []db.RoomInfo{{ID: "1" + id}, {ID: "2" + id}}}})
	}
	f.applyPage(page)
	_, next := f.currentView().AppendRooms(nil, Filter{}, Page{Limit: 3})
	f.applyPage(&db.RosterPage{Replicas: page.Replicas,
		Agents: []db.RosterAgent{{HasLeft: true, InstanceInfo: db.InstanceInfo{ID: "b"}}}})
	list, end := f.currentView().AppendRooms(nil, Filter{}, Page{Limit: 3, Cursor: next})
	require.Contains(t, string(list), `[{"id":"1c"`)
	require.Empty(t, end)
	for _, bad := range []string{"%", "YQ", "YSBiIGM"} {
		list, _ = f.currentView().AppendInstances(nil, Page{Cursor: bad})
		require.Contains(t, string(list), `[{"id":"a"`)
	}
}
