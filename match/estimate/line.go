package estimate

import (
	"math"
	"sort"
	"time"
)

// Bounds of what a line holds.
const (
	maxOutstanding = 4096 // places of the sample whose players wait
	samplesALook   = 64
	looksKept      = 16
	// samplesASecond is the rate at which keptWaits waits are those of the whole time keptFor.
	samplesASecond = keptWaits / float64(keptFor/time.Second)
	// copyAge bounds how old a replica's copy of a line is when a player joins by it.
	copyAge = 500 * time.Millisecond
)

// Look is what a line shows at a moment.
type Look struct {
	SeenAt    time.Time // by one clock for all looks and players
	Rate      float64   // admissions a second at most; 0: nobody is admitted
	Head      int64     // the highest place that was admitted
	NextPlace int64     // of the player who joins next
	Admitted  int64     // players admitted since the line exists
	Waiting   int       // players who wait
	// Position returns how many players are admitted before a place and with it, as a copy of the line of this moment
	// shows it.
	Position func(place int64) int
	// Positions are the estimates that such a copy has.
	Positions Positions
}

// Positions are estimates by position: in each group a wait is proportional to the position.
type Positions struct {
	UpTo     []int32   // ascending; the last group has all positions above as well
	P50, P90 []float64 // seconds for each position
}

// WaitAt returns the estimate of a position; known is false without any.
func (p Positions) WaitAt(position int) (p50, p90 time.Duration, known bool) {
	if len(p.UpTo) == 0 {
		return 0, 0, false
	}
	i := sort.Search(len(p.UpTo)-1, func(i int) bool { return position <= int(p.UpTo[i]) })
	p50, p90 = twoDigits(float64(position)*p.P50[i]), twoDigits(float64(position)*p.P90[i])
	// Each of the two ratios is corrected by its own misses, so that the p90 may be below the p50 for a while.
	return p50, max(p50, p90), true
}

// twoDigits rounds to two digits, and to a tenth of a second. A line that moves evenly is known better than that, by much
// less than the age of the copy by which a player joins: estimates of more digits would all be wrong on the same side.
func twoDigits(seconds float64) time.Duration {
	step := math.Pow(10, max(-1, math.Floor(math.Log10(max(seconds, 0.1)))-1))
	return secondsDuration(math.Round(seconds/step) * step)
}

// Line estimates for players who wait in a line that is admitted in its order, such as a login queue. It takes a sample
// of the players, evenly over those that join. The zero value knows nothing. It is for one goroutine.
type Line struct {
	compared    comparison
	pace        pace
	looks       []shownLook // oldest first
	outstanding []outstanding
	passedCount int     // how many of outstanding the head has passed
	standFor    int     // how many players outstanding stands for
	mostStood   float64 // the greatest standFor of late: it falls slowly
	stride      int64   // one place in so many is in the sample
}

// shownLook is a look, and how long a position waited by the pace of that moment.
type shownLook struct {
	look        Look
	secondsEach float64
}

// outstanding is a player of the sample who waits.
type outstanding struct {
	place    int64
	player   string
	joinedAt time.Time
	position int
	plain    float64 // the plain estimate in seconds, rounded as published ones are, so that ratios include the rounding
	promise  promise
	promised bool // promise was published
	count    int  // how many players it stands for
}

// Observe notes what the line shows now, and returns the places of new players that belong to the sample: call Join for
// those of them who wait, and then Admit for each of Passed.
func (l *Line) Observe(look Look) (sample []int64) {
	from := look.NextPlace
	if n := len(l.looks); n > 0 {
		from = l.looks[n-1].look.NextPlace
		l.pace.add(l.looks[n-1].look, look)
	}
	if n := len(l.looks) - looksKept + 1; n > 0 {
		l.looks = append(l.looks[:0], l.looks[n:]...)
	}
	l.looks = append(l.looks, shownLook{look, l.pace.secondsEach(look.Rate)})
	for l.passedCount < len(l.outstanding) && l.outstanding[l.passedCount].place <= look.Head {
		l.passedCount++
	}
	l.thinOutstanding()
	first := max(from, look.Head+1)
	l.stride = max(1, int64(l.joinsASecond()/samplesASecond), (look.NextPlace-first)/samplesALook)
	for place := (first + l.stride - 1) / l.stride * l.stride; place < look.NextPlace; place += l.stride {
		sample = append(sample, place)
	}
	return sample
}

// joinsASecond returns how many players a second joined of late.
func (l *Line) joinsASecond() float64 {
	first, last := l.looks[0], l.looks[len(l.looks)-1]
	return float64(last.look.NextPlace-first.look.NextPlace) / max(1, last.look.SeenAt.Sub(first.look.SeenAt).Seconds())
}

// thinOutstanding drops every other player where too many of the sample wait: the one before stands for it, too.
func (l *Line) thinOutstanding() {
	if len(l.outstanding)-l.passedCount <= maxOutstanding {
		return
	}
	kept := l.outstanding[:l.passedCount]
	for i := l.passedCount; i < len(l.outstanding); i += 2 {
		o := l.outstanding[i]
		if i+1 < len(l.outstanding) {
			o.count += l.outstanding[i+1].count
		}
		kept = append(kept, o)
	}
	clear(l.outstanding[len(kept):])
	l.outstanding = kept
}

// Join notes that a player of the sample joined the line at a time, and waits.
func (l *Line) Join(place int64, player string, joined time.Time) {
	copied, known := l.copyAt(place, joined)
	// A closed valve shows no estimate.
	if !known || copied.secondsEach <= 0 || copied.look.Rate == 0 {
		return
	}
	o := outstanding{place: place, player: player, joinedAt: joined, position: copied.look.Position(place),
		count: int(l.stride)}
	o.plain = max(0.1, twoDigits(float64(o.position)*copied.secondsEach).Seconds())
	o.promise.p50, o.promise.p90, o.promised = copied.look.Positions.WaitAt(o.position)
	l.outstanding = append(l.outstanding, o)
	l.standFor += o.count
	l.mostStood = max(l.mostStood, float64(l.standFor))
}

// copyAt returns the look of the copy by which a replica lets a player join.
func (l *Line) copyAt(place int64, joined time.Time) (shownLook, bool) {
	// Copies are between new and copyAge old: spread evenly by the place.
	age := time.Duration(uint64(place)*0x9e3779b97f4a7c15>>44) * copyAge >> 20
	copied := joined.Add(-age)
	n := sort.Search(len(l.looks), func(i int) bool { return l.looks[i].look.SeenAt.After(copied) })
	if n == 0 {
		return shownLook{}, false
	}
	// The nearer look, so that copies have the right age on average.
	if n < len(l.looks) && l.looks[n].look.SeenAt.Sub(copied) < copied.Sub(l.looks[n-1].look.SeenAt) {
		n++
	}
	return l.looks[n-1], true
}

// Passed returns the players of the sample whose place the head of the line has passed: each was admitted, or has left.
func (l *Line) Passed() (players []string) {
	for _, o := range l.outstanding[:l.passedCount] {
		players = append(players, o.player)
	}
	return players
}

// Admit compares the waits of the players that were admitted, of those that Passed returned. It forgets the others, who
// have left.
func (l *Line) Admit(admittedAt map[string]time.Time) {
	l.compared.setLesson(int(l.mostStood))
	for _, o := range l.outstanding[:l.passedCount] {
		l.standFor -= o.count
		at, known := admittedAt[o.player]
		if !known {
			continue
		}
		waited := max(0, at.Sub(o.joinedAt))
		if o.promised {
			l.compared.learn(waited, o.promise, o.count)
		}
		l.compared.addWait(at, waited, o.plain, float64(o.position))
	}
	n := copy(l.outstanding, l.outstanding[l.passedCount:])
	clear(l.outstanding[n:])
	l.outstanding, l.passedCount = l.outstanding[:n], 0
}

// Publish returns the estimates for now; none until enough players were admitted of late. Positions of the looks
// afterwards are to be these.
func (l *Line) Publish(now time.Time) (p Positions) {
	if len(l.looks) == 0 {
		return p
	}
	// mostStood falls slowly, so that waits beyond their estimates and waits within them change the shift as much,
	// although the line is longer when the ones begin than when the others do.
	l.mostStood = max(float64(l.standFor), l.mostStood*0.999)
	each := l.looks[len(l.looks)-1].secondsEach
	for _, f := range l.compared.factors(now) {
		p.UpTo = append(p.UpTo, int32(f.upTo))
		p.P50, p.P90 = append(p.P50, each*f.p50), append(p.P90, each*f.p90)
	}
	return p
}

// TakeCalibration returns the counts since it was last called, and begins at zero. A wait is that of an admitted player;
// each player of the sample counts as all that it stands for.
func (l *Line) TakeCalibration() CalibrationCounts { return l.compared.takeCalibration() }

// pace is the part of the admissions that the rate permits of which a line made use of late, so that a change of the
// rate counts at once. Time in which nobody waits, or nobody may be admitted, does not count.
type pace struct {
	points   []paceSums // one a second, oldest first
	sums     paceSums
	lastRate float64
}

// paceSums are the sums over the time that counts, since the beginning.
type paceSums struct {
	counted             time.Duration
	permitted, admitted float64
}

// add notes what the line did between two looks.
func (p *pace) add(before, now Look) {
	if before.Waiting == 0 || now.Waiting == 0 || before.Rate == 0 {
		return
	}
	if n := len(p.points); n == 0 || p.sums.counted-p.points[n-1].counted >= time.Second {
		p.points = append(p.points, p.sums)
	}
	passed := now.SeenAt.Sub(before.SeenAt)
	p.sums.counted += passed
	p.sums.permitted += float64(before.Rate * passed.Seconds())
	p.sums.admitted += float64(now.Admitted - before.Admitted)
	for len(p.points) > 1 && p.sums.counted-p.points[0].counted > rateWindow {
		p.points = p.points[1:]
	}
}

// secondsEach returns how long a position waits at a rate; 0: it is not known.
func (p *pace) secondsEach(rate float64) float64 {
	if rate > 0 {
		p.lastRate = rate
	}
	if p.lastRate == 0 {
		return 0
	}
	var permitted, admitted float64
	if len(p.points) > 0 {
		permitted, admitted = p.sums.permitted-p.points[0].permitted, p.sums.admitted-p.points[0].admitted
	}
	return (permitted + prior) / (admitted + prior) / p.lastRate
}
