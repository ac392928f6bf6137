package db

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/match/estimate"
)

// A launch that is simulated: who comes, what the valve allows, and how long players stay.
type valveWorld struct {
	comes      func(second float64) float64 // players a second
	rate       func(second float64) float64 // 0: the valve is closed
	staffShare float64
	staffComes float64                  // a second
	leaves     float64                  // of the line, a second and player
	maxPlayers int                      // 0: any number
	stays      func(*rand.Rand) float64 // seconds, of those who are in
	within     float64                  // of the promised shares; 0: 0.02
	isLong     bool                     // it takes seconds
}

func always(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// waves come in turn: for so many seconds each, players come faster than the other time.
func waves(seconds int, fast, slow float64) func(float64) float64 {
	return func(s float64) float64 {
		if int(s)/seconds%2 == 0 {
			return fast
		}
		return slow
	}
}

// turns are rates that an operator sets one after the other, for so many seconds each.
func turns(seconds int, rates ...float64) func(float64) float64 {
	return func(s float64) float64 { return rates[int(s)/seconds%len(rates)] }
}

func lognormal(median, sigma float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return median * math.Exp(sigma*r.NormFloat64()) }
}

var valveWorlds = map[string]valveWorld{
	"steady rate":           {comes: waves(300, 60, 37), rate: always(50)},
	"bursts":                {comes: func(s float64) float64 { return 20 + 480*float64(1-min(1, int(s)%300/15)) }, rate: always(45)},
	"one long line":         {comes: func(s float64) float64 { return 20 + 380*math.Exp(-s/200) }, rate: always(50), within: 0.06},
	"changed rate":          {comes: waves(400, 70, 30), rate: waves(500, 45, 65)},
	"rate often changed":    {comes: waves(400, 70, 30), rate: turns(250, 40, 80, 25, 60), within: 0.15},
	"closed for a while":    {comes: waves(400, 60, 30), rate: func(s float64) float64 { return 60 * float64(min(1, int(s)%900/60)) }},
	"players leave":         {comes: waves(300, 120, 30), rate: always(40), leaves: 1.0 / 120, within: 0.04, isLong: true},
	"reserved shares":       {comes: waves(300, 60, 30), rate: always(50), staffShare: 0.3, staffComes: 8},
	"bound by players":      {comes: waves(600, 16, 8), rate: always(100), maxPlayers: 6000, stays: lognormal(400, 0.8), within: 0.04, isLong: true},
	"bound, and they leave": {comes: waves(600, 24, 8), rate: always(100), maxPlayers: 5000, stays: lognormal(300, 1.2), leaves: 1.0 / 300, staffShare: 0.05, staffComes: 0.3, isLong: true},
	"slow rate":             {comes: waves(1200, 3, 1), rate: always(2), within: 0.03, isLong: true},
}

// The promise: over 100,000 waits of each world, 50 % end before the p50 that the player saw on joining and 90 % before
// the p90, within 2 % over all worlds, and within 2 % in each that has no bound of its own. Those that have one have in
// common that many players join before what becomes of them is known: all waits of one long line, or of one rate, end
// alike, so a hundred thousand waits are no more than a handful of observations.
func TestEstimatesOfValvesAreCalibrated(t *testing.T) { //nolint:tparallel // the worlds end before their sum is judged
	t.Parallel()
	results := make(chan estimate.CalibrationCounts, len(valveWorlds))
	t.Run("worlds", func(t *testing.T) {
		for name, w := range valveWorlds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if w.isLong {
					longtest.Only(t, "steady rate")
				}
				r := w.play(7, 100_000)
				results <- r
				requireShares(t, r, cmp.Or(w.within, 0.02))
			})
		}
	})
	var all estimate.CalibrationCounts
	for range len(results) {
		all = all.Plus(<-results)
	}
	requireShares(t, all, 0.02)
}

func requireShares(t *testing.T, r estimate.CalibrationCounts, within float64) {
	t.Helper()
	half, most := float64(r.BeforeP50)/float64(r.WaitCount), float64(r.BeforeP90)/float64(r.WaitCount)
	t.Logf("%d waits: %.2f %% ended before p50, %.2f %% before p90", r.WaitCount, 100*half, 100*most)
	require.InDelta(t, 0.50, half, within)
	require.InDelta(t, 0.90, most, within)
}

// valveSimulation plays a world in steps of 20 ms, which is what a replica's batch takes.
type valveSimulation struct {
	valveWorld
	random      *rand.Rand
	now         float64 // seconds
	row         query.LoginLinesRow
	line        []simulatedPlayer // that wait or have left, by place, without staff
	staffLine   []simulatedPlayer
	tokens      float64
	staffTokens float64
	refilledAt  float64
	lookedAt    float64 // by the worker
	// admittedLast is when a player was admitted who had an estimate: what follows a launch that is over is not played.
	admittedLast float64
	sessions     []float64 // ends of those who play, the next first

	copied     *LoginLine // of the replica
	worker     estimate.Line
	admittedAt map[string]time.Time // of late
	record     estimate.CalibrationCounts
}

type simulatedPlayer struct {
	place    int64
	joinedAt float64
	leavesAt float64
	seen     bool // an estimate
	p50, p90 time.Duration
}

func simulatedTime(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }

func (w valveWorld) play(seed uint64, waits int) estimate.CalibrationCounts {
	const step = 0.02
	s := valveSimulation{valveWorld: w, random: rand.New(rand.NewPCG(seed, 1)), admittedAt: map[string]time.Time{}}
	s.row = query.LoginLinesRow{Name: "x", Mode: ValveLimited, Step: 1, NextPlace: 1}
	owed, owedStaff := 0.0, 0.0
	for tick := 1; s.record.WaitCount < waits && s.now < s.admittedLast+1800; tick++ {
		s.now = float64(tick) * step
		for len(s.sessions) > 0 && s.sessions[0] <= s.now {
			s.sessions = s.sessions[1:]
		}
		next := s.row.NextPlace
		for owed += s.comes(s.now) * step * s.random.ExpFloat64(); owed >= 1; owed-- {
			s.join(false)
		}
		for owedStaff += s.staffComes * step; owedStaff >= 1; owedStaff-- {
			s.join(true)
		}
		if tick%10 == 0 || s.row.NextPlace > next {
			s.turn()
		}
		// Players who were admitted by the call that gave them a place see no estimate, and are in no sample. The copy that the
		// others see is a quarter of a second old on average, as that which the worker assumes.
		if tick%50 == 0 {
			s.copied = s.read()
		}
		s.show(next)
		if tick%50 == 25 {
			s.copied = s.read()
		}
		if tick%10 == 0 {
			s.runWorker(tick%100 == 0)
		}
	}
	return s.record
}

func (s *valveSimulation) join(isStaff bool) {
	p := simulatedPlayer{place: s.row.NextPlace, joinedAt: s.now, leavesAt: math.Inf(1)}
	if s.leaves > 0 {
		p.leavesAt = s.now + s.random.ExpFloat64()/s.leaves
	}
	s.row.NextPlace++
	if isStaff {
		s.staffLine = append(s.staffLine, p)
	} else {
		s.line = append(s.line, p)
	}
}

// show lets players who joined in this step see their estimate, by the replica's copy.
func (s *valveSimulation) show(joined int64) {
	if s.copied == nil {
		return
	}
	for i := len(s.line) - 1; i >= 0 && s.line[i].place >= joined; i-- {
		p := &s.line[i]
		if e := s.copied.place(p.place, false).Estimate; e != nil && e.IsCompared {
			p.seen, p.p50, p.p90 = true, e.P50, e.P90
		}
	}
}

// read returns a copy of the line.
func (s *valveSimulation) read() *LoginLine {
	row := s.row
	row.Waiting = int32(len(s.line))
	if s.leaves > 0 {
		row.Waiting = int32(len(s.present()))
	}
	row.WaitingStaff = int32(len(s.staffLine))
	row.Waiting += row.WaitingStaff
	row.Rate = s.rate(s.now)
	row.Mode = ValveLimited
	if row.Rate == 0 {
		row.Mode, row.Rate = ValveClosed, 1
	}
	row.RecentFor, row.ReadAt = 3600, simulatedTime(s.now)
	return &LoginLine{row}
}

// present returns the places of the players who wait, without staff.
func (s *valveSimulation) present() []int64 {
	places := make([]int64, 0, len(s.line))
	for i := range s.line {
		if s.line[i].leavesAt > s.now {
			places = append(places, s.line[i].place)
		}
	}
	return places
}

// mark makes the marks of the line as mark_login_queue does.
func (s *valveSimulation) mark() {
	waiting := s.present()
	s.row.Step = int32(max(1, (len(waiting)+511)/512))
	s.row.Marks = nil
	for i := 0; i < len(waiting); i += int(s.row.Step) {
		s.row.Marks = append(s.row.Marks, waiting[i])
	}
	s.row.MarkedWaiting, s.row.MarkedAdmitted, s.row.MarkedNext = int32(len(waiting)), s.row.Admitted, s.row.NextPlace
}

func (s *valveSimulation) runWorker(publishes bool) {
	look := s.read().Look()
	s.lookedAt = s.now
	for _, place := range s.worker.Observe(look) {
		i := sort.Search(len(s.line), func(i int) bool { return s.line[i].place >= place })
		if i < len(s.line) && s.line[i].place == place && s.line[i].leavesAt > s.now {
			s.worker.Join(place, strconv.FormatInt(place, 10), simulatedTime(s.line[i].joinedAt))
		}
	}
	if !publishes {
		return
	}
	s.mark()
	s.worker.Admit(s.admittedAt)
	for player, at := range s.admittedAt {
		if look.SeenAt.Sub(at) > 10*time.Second {
			delete(s.admittedAt, player)
		}
	}
	p := s.worker.Publish(look.SeenAt)
	s.row.EstimateUpto, s.row.EstimateP50, s.row.EstimateP90 = p.UpTo, p.P50, p.P90
}

// turn refills the bucket and admits as turn_login_queue does.
func (s *valveSimulation) turn() {
	rate, passed := s.rate(s.now), s.now-s.refilledAt
	s.refilledAt = s.now
	if rate == 0 {
		s.tokens, s.staffTokens = 0, 0
		return
	}
	refill := s.staffTokens + rate*s.staffShare*passed
	s.staffTokens = 0
	if s.staffShare > 0 {
		s.staffTokens = min(refill, max(1, rate*s.staffShare))
	}
	s.tokens = min(s.tokens+rate*(1-s.staffShare)*passed+refill-s.staffTokens, max(1, rate))
	room := math.Inf(1)
	if s.maxPlayers > 0 {
		room = float64(s.maxPlayers - len(s.sessions))
	}
	for len(s.staffLine) > 0 && s.staffTokens >= 1 && room >= 1 {
		s.staffTokens, room, s.staffLine = s.staffTokens-1, room-1, s.staffLine[1:]
		s.stay()
	}
	room -= float64(s.maxPlayers) * s.staffShare
	for ; len(s.line) > 0 && s.tokens >= 1 && room >= 1; s.line = s.line[1:] {
		p := s.line[0]
		if p.leavesAt <= s.now {
			continue
		}
		s.tokens, room = s.tokens-1, room-1
		s.row.Head, s.row.Admitted = p.place, s.row.Admitted+1
		s.stay()
		s.admit(p)
	}
}

// stay counts somebody who is in.
func (s *valveSimulation) stay() {
	if s.maxPlayers > 0 {
		ends := s.now + s.stays(s.random)
		i, _ := slices.BinarySearch(s.sessions, ends)
		s.sessions = slices.Insert(s.sessions, i, ends)
	}
}

func (s *valveSimulation) admit(p simulatedPlayer) {
	s.admittedAt[strconv.FormatInt(p.place, 10)] = simulatedTime(s.now)
	// A wait that was over before the worker looked is in no sample, and shorter than any client shows.
	if !p.seen || p.joinedAt > s.lookedAt {
		return
	}
	waited := simulatedTime(s.now).Sub(simulatedTime(p.joinedAt))
	s.record.WaitCount, s.admittedLast = s.record.WaitCount+1, s.now
	if waited <= p.p50 {
		s.record.BeforeP50++
	}
	if waited <= p.p90 {
		s.record.BeforeP90++
	}
}
