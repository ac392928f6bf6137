package provision

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/value"
)

var duelServer = pack.Host{Modes: []string{"duel", "race"}, Capacity: 8, FreeSlots: 8}

func duelParties(n, size, maxPlayers int) (all []waitingParty) {
	for range n {
		all = append(all, waitingParty{party: pack.Party{Shape: pack.Shape{Mode: "duel", MaxPlayers: maxPlayers},
			Size: size}})
	}
	return all
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state                  poolState
		start, target, surplus int
		text                   string
	}{
		"nothing": {
			poolState{max: 10}, 0, 0, 0,
			"0 live servers, 0 of them with players; 0 starting; 0 parties waiting. Used 0 + buffer 0 = 0: nothing to do",
		},
		"min": {
			poolState{min: 2, max: 10}, 2, 2, 0,
			"0 live servers, 0 of them with players; 0 starting; 0 parties waiting. Used 0 + buffer 0 = 0, limited to 2 by min 2 and max 10: start 2",
		},
		"two hundred players need 25 servers": {
			poolState{max: 100, waitingParties: duelParties(200, 1, 8)}, 25, 25, 0,
			"0 live servers, 0 of them with players; 0 starting; 200 parties waiting. Used 25 + buffer 0 = 25: start 25",
		},
		"coming servers are filled one by one": {
			poolState{max: 100, coming: 30, liveServers: 1, busyServers: 1, waitingParties: duelParties(200, 1, 8)}, 0,
			26, 5,
			"1 live server, 1 of them with players; 30 starting; 200 parties waiting. Used 26 + buffer 0 = 26: 5 too many",
		},
		"half of the servers stay unused": {
			poolState{max: 100, liveServers: 10, busyServers: 10, bufferServers: 50, bufferPercent: true}, 10, 20, 0,
			"10 live servers, 10 of them with players; 0 starting; 0 parties waiting. Used 10 + buffer 10 = 20: start 10",
		},
		"two at a time": {
			poolState{max: 100, coming: 1, maxStarting: 2, waitingParties: duelParties(200, 1, 8)}, 1, 2, 0,
			"0 live servers, 0 of them with players; 1 starting; 200 parties waiting. Used 2 + buffer 0 = 2: start 1",
		},
		"servers that end count": {
			poolState{max: 3, liveServers: 1, busyServers: 1, ending: 2, waitingParties: duelParties(1, 1, 8),
				bufferServers: 1}, 0, 2, 0,
			"1 live server, 1 of them with players; 0 starting; 2 ending; 1 party waiting. Used 1 + buffer 1 = 2: 1 missing, but max is 3, and servers that drain or end count until they are gone",
		},
		"servers that drain count": {
			poolState{max: 3, liveServers: 1, busyServers: 1, draining: 1, ending: 1,
				waitingParties: duelParties(1, 1, 8), bufferServers: 1}, 0, 2, 0,
			"1 live server, 1 of them with players; 0 starting; 1 draining; 1 ending; 1 party waiting. Used 1 + buffer 1 = 2: 1 missing, but max is 3, and servers that drain or end count until they are gone",
		},
		"paused": {
			poolState{max: 3, isPaused: true, waitingParties: duelParties(1, 1, 8)}, 0, 1, 0,
			"0 live servers, 0 of them with players; 0 starting; 1 party waiting. Used 1 + buffer 0 = 1: 1 missing, but the pool or its app version is paused",
		},
		"too large for any server": {
			poolState{max: 3, waitingParties: duelParties(1, 1, 9)}, 0, 0, 0,
			"0 live servers, 0 of them with players; 0 starting; 1 party waiting. Used 0 + buffer 0 = 0: nothing to do",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.state.emptyServer = duelServer; c.state.maxStarting == 0 {
				c.state.maxStarting = 50
			}
			p := planPool(c.state)
			require.Equal(t, []int{c.start, c.target, c.surplus}, []int{p.Start, p.Target, p.Surplus}, p.Text)
			require.Equal(t, c.text, p.Text)
			require.Len(t, p.nearPlayers, p.Start)
		})
	}
}

func TestNewServersStartNearTheirFirstPlayer(t *testing.T) {
	t.Parallel()
	waiting := duelParties(9, 8, 8)
	for i := range waiting {
		waiting[i].playerAddress = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	waiting[2].playerAddress = netip.Addr{}
	p := planPool(poolState{max: 9, maxStarting: 9, coming: 1, bufferServers: 1, waitingParties: waiting,
		emptyServer: duelServer})
	require.Equal(t, 8, p.Start)
	require.Equal(t, waiting[1].playerAddress, p.nearPlayers[0], "the first party gets the server that starts already")
	require.False(t, p.nearPlayers[1].IsValid())
	require.Equal(t, waiting[8].playerAddress, p.nearPlayers[7])
}

// drawState draws a pool whose servers and parties are as they could be.
func drawState(t *rapid.T) poolState {
	s := poolState{
		max: rapid.IntRange(0, 12).Draw(t, "max"), bufferServers: rapid.IntRange(0, 4).Draw(t, "buffer"),
		maxStarting: rapid.IntRange(0, 6).Draw(t, "maxStarting"),
		isPaused:    rapid.IntRange(0, 9).Draw(t, "paused") == 0, coming: rapid.IntRange(0, 4).Draw(t, "coming"),
		ending:   rapid.IntRange(0, 3).Draw(t, "ending"),
		draining: rapid.IntRange(0, 3).Draw(t, "draining"), emptyServer: duelServer,
	}
	s.lostServers = rapid.IntRange(0, s.ending).Draw(t, "lost")
	s.min = rapid.IntRange(0, s.max).Draw(t, "min")
	if rapid.Bool().Draw(t, "percent") {
		s.bufferServers, s.bufferPercent = rapid.IntRange(0, 99).Draw(t, "share"), true
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "live") {
		h := duelServer
		h.ID = fmt.Sprint("h", i)
		s.liveServers++
		if h.ReservedSeats = rapid.IntRange(0, 8).Draw(t, "reserved"); h.ReservedSeats > 0 {
			s.busyServers++
			h.FreeSlots--
		}
		if h.ReservedSeats < h.Capacity {
			s.packHosts, s.isUnused = append(s.packHosts, h), append(s.isUnused, h.ReservedSeats == 0)
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "parties") {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		w := waitingParty{party: pack.Party{Shape: pack.Shape{Mode: rapid.SampledFrom([]string{"duel", "race",
			"none"}).Draw(t, "mode"), MaxPlayers: rapid.IntRange(size, 10).Draw(t, "of")}, Size: size, PlayedIn: nil,
			FillOnly: false}}
		s.waitingParties = append(s.waitingParties, w)
	}
	return s
}

func TestAPlanStartsNothingOverItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		p := planPool(s)
		if p.Start < 0 || p.Surplus < 0 || p.Start > 0 && p.Surplus > 0 || len(p.nearPlayers) != p.Start {
			t.Fatalf("start %d, surplus %d, near %d", p.Start, p.Surplus, len(p.nearPlayers))
		}
		if p.Start > 0 && (s.liveServers+s.coming+s.draining+s.ending+p.Start > s.max ||
			s.coming+p.Start > s.maxStarting || s.isPaused) {
			t.Fatalf("%d servers started: %+v", p.Start, s)
		}
		if p.Replaced != 0 && (p.Replaced != s.lostServers || p.Start > 0) {
			t.Fatalf("%d of %d lost servers are replaced while %d start", p.Replaced, s.lostServers, p.Start)
		}
		if p.Target < s.min || p.Target > s.max {
			t.Fatalf("target %d", p.Target)
		}
	})
}

// A party that fits an empty server waits only for servers that the pool may not start now, and older parties come
// first.
func TestNoPartyThatFitsStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		s.isPaused = false
		p := planPool(s)
		room := max(0, min(s.maxStarting-s.coming, s.max-s.liveServers-s.coming-s.draining-s.ending))
		fits := 0
		for _, w := range s.waitingParties {
			if w.party.Shape.MaxPlayers <= duelServer.Capacity && w.party.Shape.Mode != "none" {
				fits++
			}
		}
		misfits := len(s.waitingParties) - fits
		if p.Unseated > misfits && p.Start < room {
			t.Fatalf("%d parties have no server, but %d of %d were started", p.Unseated-misfits, p.Start, room)
		}
		if p.Unseated < misfits {
			t.Fatalf("%d parties that fit nowhere, only %d without a server", misfits, p.Unseated)
		}
	})
}

// Under constant demand a pool settles: it starts servers, then ends what it has too many, and then changes nothing.
func TestConstantDemandDoesNotOscillate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		s.isPaused, s.draining, s.ending, s.lostServers = false, 0, 0, 0
		s.maxStarting++
		for ended, steps := false, 0; ; steps++ {
			p := planPool(s)
			if p.Start > 0 && ended || steps > 40 {
				t.Fatalf("after %d steps, servers ended: %v: %s", steps, ended, p.Text)
			}
			running := s.coming == 0
			for range s.coming { // those that started live
				h := s.emptyServer
				h.ID = value.NewID().String()
				s.liveServers++
				s.packHosts, s.isUnused = append(s.packHosts, h), append(s.isUnused, true)
			}
			s.coming = p.Start
			empty := slices.Index(s.isUnused, true)
			ending := p.End > 0 && empty >= 0
			if ending {
				s.packHosts = slices.Concat(s.packHosts[:empty], s.packHosts[empty+1:])
				s.isUnused = slices.Concat(s.isUnused[:empty], s.isUnused[empty+1:])
				s.liveServers--
			}
			if ended = ended || ending; running && p.Start == 0 && !ending {
				return
			}
		}
	})
}
