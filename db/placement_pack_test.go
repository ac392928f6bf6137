package db

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var duel = shape{"duel", 4}

func TestPackFillsTheFullestSessionThatFits(t *testing.T) {
	t.Parallel()
	sessions := []packedSession{{duel, newID(), 1, alreadyOpen}, {duel, newID(), 3, alreadyOpen}, {duel, newID(), 2, alreadyOpen}}
	at, packed := pack([]party{{shape: duel, size: 1}, {shape: duel, size: 2}, {shape: duel, size: 2}}, sessions, nil)
	require.Equal(t, []int{1, 2, 0}, at)
	require.Equal(t, []int{3, 4, 4}, []int{packed[0].players, packed[1].players, packed[2].players})
	require.Equal(t, 1, sessions[0].players, "the argument is not changed")
}

func TestPackOpensSessionsOnTheLeastLoadedHosts(t *testing.T) {
	t.Parallel()
	hosts := []host{
		{id: "busy", modes: []string{"duel"}, capacity: 100, freeSlots: 9, load: 0.9},
		{id: "a", modes: []string{"duel"}, capacity: 8, freeSlots: 9},
		{id: "b", modes: []string{"duel"}, capacity: 8, freeSlots: 9},
		{id: "other", modes: []string{"race"}, capacity: 100, freeSlots: 9},
	}
	parties := slices.Repeat([]party{{shape: duel, size: 4}}, 4)
	_, sessions := pack(parties, nil, hosts)
	on := []string{hosts[sessions[0].host].id, hosts[sessions[1].host].id, hosts[sessions[2].host].id, hosts[sessions[3].host].id}
	require.Equal(t, []string{"a", "b", "a", "b"}, on)
}

func TestPackNeverSeatsAPartyWhereAMemberPlays(t *testing.T) {
	t.Parallel()
	r := packedSession{duel, newID(), 1, alreadyOpen}
	at, _ := pack([]party{{shape: duel, size: 1, playedIn: []uuid.UUID{r.id}}, {shape: duel, size: 1}}, []packedSession{r}, nil)
	require.Equal(t, []int{-1, 0}, at)
}

func TestPackRespectsMaxSessions(t *testing.T) {
	t.Parallel()
	at, _ := pack(slices.Repeat([]party{{shape: duel, size: 4}}, 2), nil, []host{{id: "a", modes: []string{"duel"}, capacity: 100, freeSlots: 1}})
	require.Equal(t, []int{0, -1}, at)
}

// For any input: no capacity is exceeded, parties stay together in a session of their shape, no empty session is opened, and no
// party is refused that fits into a session.
func TestPackProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shapes := []shape{{"a", 2}, {"a", 5}, {"b", 4}}
		genShape := rapid.SampledFrom(shapes)
		var sessions []packedSession
		for range rapid.IntRange(0, 6).Draw(t, "sessions") {
			s := genShape.Draw(t, "shape")
			sessions = append(sessions, packedSession{s, newID(), rapid.IntRange(0, s.maxPlayers).Draw(t, "players"), alreadyOpen})
		}
		var hosts []host
		for i := range rapid.IntRange(0, 4).Draw(t, "hosts") {
			hosts = append(hosts, host{
				id: fmt.Sprint(i), modes: rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "modes"),
				capacity: rapid.IntRange(1, 20).Draw(t, "capacity"), reserved: rapid.IntRange(0, 20).Draw(t, "reserved"),
				freeSlots: rapid.IntRange(0, 3).Draw(t, "slots"), load: rapid.Float64Range(0, 1).Draw(t, "load"),
			})
		}
		var parties []party
		for range rapid.IntRange(0, 30).Draw(t, "parties") {
			s := genShape.Draw(t, "shape")
			parties = append(parties, party{shape: s, size: rapid.IntRange(1, s.maxPlayers).Draw(t, "size")})
		}
		at, packed := pack(parties, sessions, hosts)

		players := map[int]int{}
		for i, p := range parties {
			if at[i] < 0 {
				continue
			}
			require.Equal(t, p.shape, packed[at[i]].shape)
			players[at[i]] += p.size
		}
		reserved, opened := map[int]int{}, map[int]int{}
		for i, r := range packed {
			before := 0
			if i < len(sessions) {
				before = sessions[i].players
			} else {
				reserved[r.host] += r.maxPlayers
				opened[r.host]++
				require.Contains(t, hosts[r.host].modes, r.mode)
				require.Positive(t, players[i], "no session is opened without players")
			}
			require.Equal(t, before+players[i], r.players)
			require.LessOrEqual(t, r.players, r.maxPlayers)
		}
		for h, n := range reserved {
			require.LessOrEqual(t, hosts[h].reserved+n, hosts[h].capacity)
			require.LessOrEqual(t, opened[h], hosts[h].freeSlots)
		}
		for i, p := range parties {
			if at[i] >= 0 {
				continue
			}
			for j, r := range packed {
				if r.shape == p.shape {
					require.Greater(t, r.players+p.size, r.maxPlayers, "party %d was refused though session %d has free seats", i, j)
				}
			}
		}
	})
}

func BenchmarkPack(b *testing.B) {
	hosts := make([]host, 32)
	for i := range hosts {
		hosts[i] = host{id: fmt.Sprint(i), modes: []string{"duel"}, capacity: 1000, freeSlots: 1000}
	}
	sessions := make([]packedSession, 64)
	for i := range sessions {
		sessions[i] = packedSession{duel, newID(), i % 4, alreadyOpen}
	}
	parties := slices.Repeat([]party{{shape: duel, size: 1}}, 256)
	b.ReportAllocs()
	for b.Loop() {
		pack(parties, sessions, hosts)
	}
}
