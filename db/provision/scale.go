package provision

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/lattice-director/director/db/internal/pack"
)

// minDeclared is the cause of a least number of servers that the pool declares, as pool_min returns it.
const minDeclared = "min"

// poolState is the input of a plan of a pool.
type poolState struct {
	min, max      int
	minCause      string // what min is from: minDeclared, a schedule in words, or forecast
	bufferServers int
	bufferPercent bool
	maxStarting   int
	isPaused      bool
	isPreparing   bool          // a schedule has not begun, and its servers start
	startTime     time.Duration // within which nine of ten of its servers were ready; 0: not measured

	readyServers int // servers that take players
	busyServers  int // of them, those with an open session
	coming       int // servers that start
	draining     int // servers that take no new players, and may have some
	ending       int // servers that end, or do not answer, and may still run at their provider
	// of these, servers that were perhaps never started: the call had no answer, and the provider does not list them
	lostServers int

	waitingParties []waitingParty // oldest first
	openSessions   []pack.Session
	packHosts      []pack.Host
	isUnused       []bool    // host by host: it is a live server of the pool without a session
	emptyServer    pack.Host // a server of the pool, empty
}

type waitingParty struct {
	party         pack.Party
	playerAddress netip.Addr // of a player; the zero Addr: not known
}

// poolPlan is the result of a plan, as stored in pools.last_plan.
type poolPlan struct {
	Live     int    `json:"live"`
	Busy     int    `json:"busy"`
	Coming   int    `json:"coming"` // with those that this plan starts
	Draining int    `json:"draining"`
	Ending   int    `json:"ending"`   // servers that take no players, and may still run at their provider
	Lost     int    `json:"lost"`     // of these, servers that were perhaps never started
	Replaced int    `json:"replaced"` // of these, servers that nobody needs any more if they turn up
	Waiting  int    `json:"waiting"`  // parties
	Used     int    `json:"used"`     // servers that are busy, or that the waiting parties fill
	Buffer   int    `json:"buffer"`   // servers
	Target   int    `json:"target"`
	Max      int    `json:"max"`
	Start    int    `json:"start"`
	Surplus  int    `json:"surplus"`
	End      int    `json:"end"`      // of the surplus, once it has lasted and they are empty
	Unseated int    `json:"unseated"` // parties that no server of this plan has room for
	Text     string `json:"text"`

	nearPlayers []netip.Addr // of a player for each server to start; the zero Addr: not known
}

// planPool computes how many servers a pool starts, and how many it has too many. It packs the waiting parties as
// placement would: first into open sessions and onto running servers, each party using up the room that it takes; then
// onto servers that start; then onto as many new ones as it takes. Starting and new servers are filled one after the
// other, so that as few as possible start. It is pure.
func planPool(s poolState) poolPlan {
	p := poolPlan{Live: s.readyServers, Busy: s.busyServers, Coming: s.coming, Draining: s.draining, Ending: s.ending,
		Lost: s.lostServers, Waiting: len(s.waitingParties), Max: s.max}
	have := s.readyServers + s.coming
	// Two bounds: how many may start at a time, and how many places the pool has left.
	room := max(0, min(s.maxStarting-s.coming, s.freePlaces()))
	left, used := s.packRunning()
	filled, near, left := s.packNew(left, s.coming, room)
	p.Used, p.Unseated = s.busyServers+used+filled, len(left)
	p.Buffer = s.spareServers(p.Used)
	p.Target = min(max(p.Used+p.Buffer, s.min), s.max)
	if !s.isPaused {
		p.Start = max(0, min(p.Target-have, room))
	}
	// With as many servers as it needs, the pool can do without the lost ones if they turn up after all.
	if have >= p.Target {
		p.Replaced = s.lostServers
	}
	p.Surplus = max(0, have-p.Target)
	if s.coming == 0 {
		p.End = p.Surplus // while servers start, it is not known on which servers the players will be placed
	}
	p.Coming += p.Start
	p.nearPlayers = make([]netip.Addr, p.Start)
	// Servers of the buffer, and those for min, start for nobody in particular: their address is the zero Addr.
	copy(p.nearPlayers, near)
	p.Text = s.planText(p)
	return p
}

// freePlaces is how many more servers the pool may have. Whatever may run at the provider counts, since it costs money.
func (s *poolState) freePlaces() int {
	return s.max - s.readyServers - s.coming - s.draining - s.ending
}

// packRunning seats parties in open sessions and on running servers. It returns the parties that are left, and how many
// unused servers of the pool got some.
func (s *poolState) packRunning() (left []waitingParty, used int) {
	seated, sessions := pack.SeatParties(packedParties(s.waitingParties), s.openSessions, s.packHosts)
	for i, w := range s.waitingParties {
		if seated[i] < 0 {
			left = append(left, w)
		}
	}
	got := make([]bool, len(s.packHosts))
	for _, r := range sessions[len(s.openSessions):] {
		// A server that got two sessions is one used server.
		if s.isUnused[r.HostIndex] && !got[r.HostIndex] {
			got[r.HostIndex] = true
			used++
		}
	}
	return left, used
}

// packNew seats parties on empty servers, one server after the other: on those that start, and on at most so many new
// ones. It returns how many servers got some, for each new one the address of a player, and the parties that are left.
func (s *poolState) packNew(waiting []waitingParty,
	coming, room int) (filled int, near []netip.Addr, _ []waitingParty) {
	for filled < coming+room && len(waiting) > 0 {
		seated, _ := pack.SeatParties(packedParties(waiting), nil, []pack.Host{s.emptyServer})
		var left []waitingParty
		var address netip.Addr
		for i, w := range waiting {
			switch {
			case seated[i] < 0:
				left = append(left, w)
			case !address.IsValid():
				address = w.playerAddress
			}
		}
		// No party that is left fits into an empty server, so more servers would not help.
		if len(left) == len(waiting) {
			break
		}
		waiting = left
		filled++
		// A server that starts already has its place. Only for a new one is it of use where the player is.
		if filled > coming {
			near = append(near, address)
		}
	}
	return filled, near, waiting
}

func packedParties(waiting []waitingParty) []pack.Party {
	all := make([]pack.Party, len(waiting))
	for i, w := range waiting {
		all[i] = w.party
	}
	return all
}

// spareServers is how many servers the buffer is, beside the used ones. With p percent, that share of all servers is unused.
func (s *poolState) spareServers(used int) int {
	if !s.bufferPercent {
		return s.bufferServers
	}
	// Rounded up: used servers are at most so many percent of all.
	rest := 100 - s.bufferServers
	return (used*100+rest-1)/rest - used
}

// planText explains a plan in words.
func (s *poolState) planText(p poolPlan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d of them with players; %d starting", countText(p.Live, "live server"), p.Busy, s.coming)
	if p.Draining > 0 {
		fmt.Fprintf(&b, "; %d draining", p.Draining)
	}
	if p.Ending > 0 {
		fmt.Fprintf(&b, "; %d ending", p.Ending)
	}
	if p.Lost > 0 {
		fmt.Fprintf(&b, ", %d of them perhaps never started", p.Lost)
	}
	fmt.Fprintf(&b, "; %s waiting. Used %d + buffer %d = %d", countParties(p.Waiting), p.Used, p.Buffer,
		p.Used+p.Buffer)
	// Said only where min or max decide, and not the need.
	if p.Target != p.Used+p.Buffer {
		fmt.Fprintf(&b, ", limited to %d by min %d%s and max %d", p.Target, s.min, s.minSource(), s.max)
	}
	b.WriteString(": ")
	b.WriteString(s.verdict(p))
	return b.String()
}

// minSource says what the least number of servers is from, unless it is the declared one.
func (s *poolState) minSource() string {
	if s.minCause == "" || s.minCause == minDeclared {
		return ""
	}
	return " (" + s.minCause + ")"
}

// verdict says what the plan does, and why it does no more.
func (s *poolState) verdict(p poolPlan) string {
	// Negative with a surplus.
	missing := p.Target - p.Live - s.coming
	switch {
	case missing > 0 && s.isPaused:
		return fmt.Sprintf("%d missing, but the pool or its app version is paused", missing)
	case p.Start > 0 && p.Start < missing:
		return fmt.Sprintf("start %d of %d that are missing, since %s", p.Start, missing, s.limitReason())
	case p.Start > 0:
		return fmt.Sprintf("start %d", p.Start)
	case missing > 0:
		return fmt.Sprintf("%d missing, but %s", missing, s.limitReason())
	case p.Surplus > 0:
		return fmt.Sprintf("%d too many", p.Surplus)
	}
	return "nothing to do"
}

// limitReason names the setting that keeps the pool from starting more servers.
func (s *poolState) limitReason() string {
	// The smaller of the two bounds of planPool.
	if s.maxStarting-s.coming <= s.freePlaces() {
		return fmt.Sprintf("at most %d start at a time", s.maxStarting)
	}
	return fmt.Sprintf("max is %d, and servers that drain or end count until they are gone", s.max)
}

func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func countParties(n int) string {
	if n == 1 {
		return "1 party"
	}
	return fmt.Sprintf("%d parties", n)
}
