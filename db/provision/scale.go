package provision

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/lattice-director/director/db/internal/pack"
)

// minDeclared is what pool_min returns as the cause of the least number of servers if this is the declared one.
const minDeclared = "min"

// poolState is the input of a plan of a pool.
type poolState struct {
	min, max      int
	minCause      string // what min is from: minDeclared, a schedule in words, or forecast
	bufferServers int    // as Pool.Buffer
	bufferPercent bool
	maxStarting   int
	isPaused      bool
	isPreparing   bool          // a schedule has not begun, and its servers start
	startTime     time.Duration // within which nine of ten of its servers were ready; 0: not measured

	liveServers int // servers that take players
	busyServers int // of liveServers, those with an open session
	coming      int // servers that start
	draining    int // servers that take no new players, and may have some
	ending      int // servers that end, or do not answer, and may still run at their provider
	// lostServers counts those of ending that the pool wanted and that were perhaps never started: the call had no answer,
	// and the provider does not list them.
	lostServers int

	waitingParties []waitingParty // oldest first
	openSessions   []pack.Session
	packHosts      []pack.Host // running servers with room, also of other pools
	isUnused       []bool      // by the index of packHosts: it is a live server of the pool without a session
	emptyServer    pack.Host   // any server of the pool, as it is when it has started
}

type waitingParty struct {
	party         pack.Party
	playerAddress netip.Addr // of one of its players; the zero Addr: not known
}

// poolPlan is the result of a plan, as stored in pools.last_plan.
type poolPlan struct {
	Live     int    `json:"live"`
	Busy     int    `json:"busy"`
	Coming   int    `json:"coming"` // with those that this plan starts
	Draining int    `json:"draining"`
	Ending   int    `json:"ending"`   // servers that take no players, and may still run at their provider
	Lost     int    `json:"lost"`     // of Ending, servers that were perhaps never started
	Replaced int    `json:"replaced"` // of Lost, servers that nobody needs any more if they turn up
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

	nearPlayers []netip.Addr // for each server to start the address of a player; the zero Addr: not known
}

// planPool computes how many servers a pool starts, and how many it has too many. It packs the waiting parties as
// placement would: first into open sessions and onto running servers, each party using up the room that it takes; then
// onto servers that start; then onto as many new ones as it takes. Starting and new servers are filled one after the
// other, so that as few as possible start. It is pure.
func planPool(s poolState) poolPlan {
	p := poolPlan{Live: s.liveServers, Busy: s.busyServers, Coming: s.coming, Draining: s.draining, Ending: s.ending,
		Lost: s.lostServers, Waiting: len(s.waitingParties), Max: s.max}
	servers := s.liveServers + s.coming
	// Two bounds: how many may start at a time, and how many places the pool has left.
	room := max(0, min(s.maxStarting-s.coming, s.freePlaces()))
	left, used := s.packRunning()
	filled, near, left := s.packNew(left, s.coming, room)
	p.Used, p.Unseated = s.busyServers+used+filled, len(left)
	p.Buffer = s.spareServers(p.Used)
	p.Target = min(max(p.Used+p.Buffer, s.min), s.max)
	if !s.isPaused {
		p.Start = max(0, min(p.Target-servers, room))
	}
	// With as many servers as it needs, the pool can do without the lost ones if they turn up after all.
	if servers >= p.Target {
		p.Replaced = s.lostServers
	}
	p.Surplus = max(0, servers-p.Target)
	// While servers start, it is not known on which servers the players will be placed.
	if s.coming == 0 {
		p.End = p.Surplus
	}
	p.Coming += p.Start
	p.nearPlayers = make([]netip.Addr, p.Start)
	// Servers of the buffer, and those for min, start for no player: the zero Addr stays.
	copy(p.nearPlayers, near)
	p.Text = s.planText(p)
	return p
}

// freePlaces returns how many more servers the pool may have. All servers that may run at the provider count, since
// they cost money.
func (s *poolState) freePlaces() int {
	return s.max - s.liveServers - s.coming - s.draining - s.ending
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
	isCounted := make([]bool, len(s.packHosts))
	// The sessions behind the open ones are new.
	for _, r := range sessions[len(s.openSessions):] {
		// A server that gets two sessions is one used server.
		if s.isUnused[r.HostIndex] && !isCounted[r.HostIndex] {
			isCounted[r.HostIndex] = true
			used++
		}
	}
	return left, used
}

// packNew seats parties on empty servers, one server after the other: on those that are coming, and on at most room new
// ones. It returns how many servers got parties, for each new one the address of a player, and the parties that are
// left.
func (s *poolState) packNew(waiting []waitingParty,
	coming, room int) (filled int, near []netip.Addr, left []waitingParty) {
	left = waiting
	for filled < coming+room && len(left) > 0 {
		rest, address := s.packEmpty(left)
		// No party fits into an empty server, so more servers would not help.
		if len(rest) == len(left) {
			break
		}
		left = rest
		filled++
		// The place of a server that is coming is decided already.
		if filled > coming {
			near = append(near, address)
		}
	}
	return filled, near, left
}

// packEmpty seats parties on one empty server. It returns the parties that are left, and the address of a player of the
// seated ones; the zero Addr: none is known.
func (s *poolState) packEmpty(waiting []waitingParty) (left []waitingParty, address netip.Addr) {
	seated, _ := pack.SeatParties(packedParties(waiting), nil, []pack.Host{s.emptyServer})
	for i, w := range waiting {
		if seated[i] < 0 {
			left = append(left, w)
			continue
		}
		if !address.IsValid() {
			address = w.playerAddress
		}
	}
	return left, address
}

func packedParties(waiting []waitingParty) []pack.Party {
	all := make([]pack.Party, len(waiting))
	for i, w := range waiting {
		all[i] = w.party
	}
	return all
}

// spareServers returns how many servers the buffer is, besides the used ones. A buffer of 20 percent is a fifth of all
// servers, used ones included.
func (s *poolState) spareServers(used int) int {
	if !s.bufferPercent {
		return s.bufferServers
	}
	usedPercent := 100 - s.bufferServers
	total := (used*100 + usedPercent - 1) / usedPercent // rounded up
	return total - used
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
	// Where min or max decide, and not the need.
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
