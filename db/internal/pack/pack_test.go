package pack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db/internal/value"
)

var duel = Shape{"duel", 4}

func TestPackFillsTheFullestSessionThatFits(t *testing.T) {
	t.Parallel()
	sessions := []Session{{duel, value.NewID(), 1, AlreadyOpen}, {duel, value.NewID(), 3, AlreadyOpen},
		{duel, value.NewID(), 2, AlreadyOpen}}
	at, packed := SeatParties([]Party{{Shape: duel, Size: 1}, {Shape: duel, Size: 2}, {Shape: duel, Size: 2}}, sessions,
		nil)
	require.Equal(t, []int{1, 2, 0}, at)
	require.Equal(t, []int{3, 4, 4}, []int{packed[0].PlayerCount, packed[1].PlayerCount, packed[2].PlayerCount})
	require.Equal(t, 1, sessions[0].PlayerCount, "the argument is not changed")
}

func TestPackOpensSessionsOnTheLeastLoadedHosts(t *testing.T) {
	t.Parallel()
	hosts := []Host{
		{ID: "busy", Modes: []string{"duel"}, Capacity: 100, FreeSlots: 9, Load: 0.9},
		{ID: "a", Modes: []string{"duel"}, Capacity: 8, FreeSlots: 9},
		{ID: "b", Modes: []string{"duel"}, Capacity: 8, FreeSlots: 9},
		{ID: "other", Modes: []string{"race"}, Capacity: 100, FreeSlots: 9},
	}
	parties := slices.Repeat([]Party{{Shape: duel, Size: 4}}, 4)
	_, sessions := SeatParties(parties, nil, hosts)
	on := []string{hosts[sessions[0].HostIndex].ID, hosts[sessions[1].HostIndex].ID, hosts[sessions[2].HostIndex].ID,
		hosts[sessions[3].HostIndex].ID}
	require.Equal(t, []string{"a", "b", "a", "b"}, on)
}

func TestPackNeverSeatsAPartyWhereAMemberPlays(t *testing.T) {
	t.Parallel()
	r := Session{duel, value.NewID(), 1, AlreadyOpen}
	at, _ := SeatParties([]Party{{Shape: duel, Size: 1, PlayedIn: []uuid.UUID{r.ID}}, {Shape: duel, Size: 1}},
		[]Session{r}, nil)
	require.Equal(t, []int{-1, 0}, at)
}

func TestPackRespectsMaxSessions(t *testing.T) {
	t.Parallel()
	at, _ := SeatParties(slices.Repeat([]Party{{Shape: duel, Size: 4}}, 2), nil,
		[]Host{{ID: "a", Modes: []string{"duel"}, Capacity: 100, FreeSlots: 1}})
	require.Equal(t, []int{0, -1}, at)
}

// For any input: no capacity is exceeded, parties stay together in a session of their shape, no empty session is
// opened, and no party is refused that fits into a session.
func TestPackProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shapes := []Shape{{"a", 2}, {"a", 5}, {"b", 4}}
		genShape := rapid.SampledFrom(shapes)
		var sessions []Session
		for range rapid.IntRange(0, 6).Draw(t, "sessions") {
			s := genShape.Draw(t, "shape")
			sessions = append(sessions, Session{s, value.NewID(), rapid.IntRange(0, s.MaxPlayers).Draw(t, "players"),
				AlreadyOpen})
		}
		var hosts []Host
		for i := range rapid.IntRange(0, 4).Draw(t, "hosts") {
			hosts = append(hosts, Host{
				ID: fmt.Sprint(i), Modes: rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "modes"),
				Capacity:      rapid.IntRange(1, 20).Draw(t, "capacity"),
				ReservedSeats: rapid.IntRange(0, 20).Draw(t, "reserved"),
				FreeSlots:     rapid.IntRange(0, 3).Draw(t, "slots"), Load: rapid.Float64Range(0, 1).Draw(t, "load"),
			})
		}
		var parties []Party
		for range rapid.IntRange(0, 30).Draw(t, "parties") {
			s := genShape.Draw(t, "shape")
			parties = append(parties, Party{Shape: s, Size: rapid.IntRange(1, s.MaxPlayers).Draw(t, "size")})
		}
		at, packed := SeatParties(parties, sessions, hosts)

		players := map[int]int{}
		for i, p := range parties {
			if at[i] < 0 {
				continue
			}
			require.Equal(t, p.Shape, packed[at[i]].Shape)
			players[at[i]] += p.Size
		}
		reserved, opened := map[int]int{}, map[int]int{}
		for i, r := range packed {
			before := 0
			if i < len(sessions) {
				before = sessions[i].PlayerCount
			} else {
				reserved[r.HostIndex] += r.Shape.MaxPlayers
				opened[r.HostIndex]++
				require.Contains(t, hosts[r.HostIndex].Modes, r.Shape.Mode)
				require.Positive(t, players[i], "no session is opened without players")
			}
			require.Equal(t, before+players[i], r.PlayerCount)
			require.LessOrEqual(t, r.PlayerCount, r.Shape.MaxPlayers)
		}
		for h, n := range reserved {
			require.LessOrEqual(t, hosts[h].ReservedSeats+n, hosts[h].Capacity)
			require.LessOrEqual(t, opened[h], hosts[h].FreeSlots)
		}
		for i, p := range parties {
			if at[i] >= 0 {
				continue
			}
			for j, r := range packed {
				if r.Shape == p.Shape {
					require.Greater(t, r.PlayerCount+p.Size, r.Shape.MaxPlayers,
						"party %d was refused though session %d has free seats", i, j)
				}
			}
		}
	})
}

func BenchmarkPack(b *testing.B) {
	hosts := make([]Host, 32)
	for i := range hosts {
		hosts[i] = Host{ID: fmt.Sprint(i), Modes: []string{"duel"}, Capacity: 1000, FreeSlots: 1000}
	}
	sessions := make([]Session, 64)
	for i := range sessions {
		sessions[i] = Session{duel, value.NewID(), i % 4, AlreadyOpen}
	}
	parties := slices.Repeat([]Party{{Shape: duel, Size: 1}}, 256)
	b.ReportAllocs()
	for b.Loop() {
		SeatParties(parties, sessions, hosts)
	}
}
