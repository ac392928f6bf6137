package console

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/doctor"
)

// healthView is what templates/health.html reads: the game, what is wrong, and the machinery.
type healthView struct {
	Game       gameState
	Director   opsview.Health
	Diagnosis  doctor.Diagnosis
	ExaminedAt time.Time
	LateLoops  int
	Keys       []opsview.Key        // the latest
	Cells      []opsview.Cell       // the others
	Moves      []opsview.RegionMove // of regions, that have not ended
	Plots      []plotData           // of the game; empty: no worker has taken samples
	Machinery  []plotData
	Ranges     []plotRange // of the plots
	Reach      plotRange   // the one that is chosen
}

// gameState is how the game is, with its last minutes for the lines in the tiles.
type gameState struct {
	Fleet       fleetTotals
	Queue       opsview.Queue // over all universes; the oldest ticket is that of the slowest
	LostServers int           // game servers that died within the time of the plots
	Refused     *doctor.Figure
	Requests    requestState
	Past        samples
}

// healthPage reads often what is cheap, and runs the checks of doctor rarely.
func (c *Console) healthPage() page[healthView] {
	checks := &checkup{examine: c.options.Doctor.Examine, now: c.now, guard: panics.New(c.options.Log, nil)}
	return page[healthView]{routePath: "/health", templateName: "health", readEvery: 3 * time.Second,
		loadData: func(ctx context.Context, s Store, q query) (v healthView, err error) {
			v.Diagnosis, v.ExaminedAt = checks.latestDiagnosis(ctx)
			// The database does not answer: each reading below would wait for its timeout, and the page has to say so
			// now.
			if v.Diagnosis.Unreadable() {
				return v, nil
			}
			if v.Director, err = readAll(ctx, s, opsview.ReadHealth); err != nil {
				return v, err
			}
			if v.Keys, _, err = listView(ctx, s, opsview.Keys, opsview.KeyFilter{},
				opsview.Page{Limit: 5}); err != nil {
				return v, err
			}
			if v.Cells, _, err = listView(ctx, s, opsview.Cells, opsview.Any{},
				opsview.Page{Limit: opsview.MaxPage}); err != nil {
				return v, err
			}
			if v.Moves, err = runningMoves(ctx, s); err != nil {
				return v, err
			}
			return v.withLateLoops().withGame(ctx, s, q)
		}}
}

// withGame adds how the game is.
func (v healthView) withGame(ctx context.Context, s Store, q query) (healthView, error) {
	counts, err := s.FleetCounts(ctx)
	if err != nil {
		return v, err
	}
	queues, _, err := listView(ctx, s, opsview.Queues, opsview.QueueFilter{}, opsview.Page{Limit: opsview.MaxPage})
	if err != nil {
		return v, err
	}
	for _, u := range queues {
		v.Game.Queue.Tickets += u.Tickets
		v.Game.Queue.OldestSeconds = max(v.Game.Queue.OldestSeconds, u.OldestSeconds)
	}
	ranges, chosen := plotRanges(q)
	past, err := readSamples(ctx, s, "", chosen.Minutes, "players", "capacity", "reserved", "lost", "tickets",
		"waiting_players", "oldest_ticket", "instances", "oldest_snapshot", "late_loops")
	v.Game.Fleet, v.Game.Past, v.Game.LostServers = totalsOf(counts), past, int(past.lineOf("lost", "").sumAll())
	if err != nil {
		return v, err
	}
	v.Game.Refused = v.Diagnosis.FigureOf("refusals")
	v.Game.Requests, err = readRequests(ctx, s, chosen)
	v.Ranges, v.Reach, v.Plots, v.Machinery = ranges, chosen, past.gamePlots(), past.machineryPlots()
	if len(v.Plots) > 0 {
		v.Plots = append(v.Plots, v.Game.Requests.drawPlots()...)
	}
	return v, err
}

// Line returns the values of a measure, for the line in its tile.
func (g gameState) Line(measure string) []float64 { return g.Past.lineOf(measure, "").valuesWithGaps() }

// Free returns the free seats of each minute.
func (g gameState) Free() []float64 {
	free, reserved := g.Line("capacity"), g.Line("reserved")
	for i := range free {
		// A minute without a value stays a gap.
		if free[i] >= 0 {
			free[i] = max(0, free[i]-max(0, reserved[i]))
		}
	}
	return free
}

// Ready returns the game servers that were ready in each minute.
func (g gameState) Ready() []float64 { return g.Past.instancesLine("ready") }

// withLateLoops counts the loops of workers that are late.
func (v healthView) withLateLoops() healthView {
	for _, l := range v.Director.Loops {
		if l.Late {
			v.LateLoops++
		}
	}
	return v
}

// longSnapshot is how long something may keep vacuum from cleaning before the machinery is shown unfolded.
const longSnapshot = time.Minute

// IsMachineryWell reports whether nothing of the machinery needs somebody, so that it is folded.
func (v healthView) IsMachineryWell() bool {
	oldest := v.Oldest()
	return v.LateLoops == 0 && len(v.Director.Loops) > 0 && v.Signing() != nil && !v.Director.Amnesty.Amnesty &&
		(oldest == nil || oldest.Age < longSnapshot)
}

// helpfulPages are the pages that show what a check of doctor found.
var helpfulPages = map[string]string{
	"fleet": "/fleet", "seats": "/capacity", "drains": "/fleet?state=draining", "refusals": "/players",
	"tickets": "/queue", "agents": "/agents", "lobby": "/lobbies", "pools": "/deployments",
	"pool limits": "/deployments", "signing keys": "/keys", "sealing keys": "/keys",
	"enrolments": "/keys", "webhooks": "/webhooks", "valves": "/valves", "moves": "/moves",
}

// PageOf returns the page that shows what a check found; "": none does.
func (healthView) PageOf(check string) string { return helpfulPages[check] }

// IsVacuumHeld reports whether anything keeps vacuum from cleaning.
func (v healthView) IsVacuumHeld() bool { return v.Oldest() != nil }

// Signing returns the key that signs now; nil: none does.
func (v healthView) Signing() *opsview.Key {
	for i, k := range v.Keys {
		if k.State == "signing" {
			return &v.Keys[i]
		}
	}
	return nil
}

// Oldest returns what has kept vacuum from cleaning for the longest time; nil: nothing has.
func (v healthView) Oldest() *opsview.Snapshot {
	var oldest *opsview.Snapshot
	for i, s := range v.Director.Snapshots {
		if s.Holders > 0 && (oldest == nil || s.Age > oldest.Age) {
			oldest = &v.Director.Snapshots[i]
		}
	}
	return oldest
}

// checkupEvery is how old a diagnosis may be: its checks read statistics of the whole database.
const checkupEvery = 15 * time.Second

// checkupTime bounds an examination. It takes a second where nothing is wrong, and 5 s for each check whose query does
// not end.
const checkupTime = time.Minute

// checkupWait is how long a page waits for an examination. It leaves time of callTimeout for what the page reads
// besides.
const checkupWait = 4 * time.Second

// checkup keeps the latest diagnosis, so that all who look share one. Safe for concurrent use.
type checkup struct {
	examine func(context.Context) doctor.Diagnosis
	now     func() time.Time
	guard   *panics.Guard

	mu          sync.Mutex
	diagnosis   doctor.Diagnosis
	examinedAt  time.Time
	examination chan struct{} // closed when the examination that runs has ended; nil: none runs
}

// latestDiagnosis returns the latest diagnosis, and begins another if that is too old. It waits for the examination
// that runs, but not for a slow one: a page that waited for all checks of a database that hardly answers would show
// nothing at all.
func (c *checkup) latestDiagnosis(ctx context.Context) (doctor.Diagnosis, time.Time) {
	if running := c.beginExamination(ctx); running != nil {
		patience := time.NewTimer(checkupWait)
		defer patience.Stop()
		select {
		case <-running:
		case <-patience.C:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.examinedAt.IsZero() {
		return firstExamination, c.now()
	}
	return c.diagnosis, c.examinedAt
}

// firstExamination is the diagnosis while the first examination runs.
var firstExamination = doctor.Diagnosis{State: doctor.Warn, First: "checks: wait for their result",
	Checks: []doctor.Finding{{
		Check: "checks", State: doctor.Warn, Says: "not known yet: the first examination takes longer than usual",
		Do: "wait for its result: this page shows it",
	}}}

// failedExamination is the diagnosis where an examination panicked.
var failedExamination = doctor.Diagnosis{State: doctor.Warn, First: "checks: run director doctor",
	Checks: []doctor.Finding{{
		Check: "checks", State: doctor.Warn, Says: "not known: the examination failed; the log has the error",
		Do: "run director doctor",
	}}}

// beginExamination returns the examination that runs, after it began one if the latest diagnosis is too old; nil: none
// runs. The examination has no context of one of the callers, who may leave.
func (c *checkup) beginExamination(ctx context.Context) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.examination == nil && c.now().Sub(c.examinedAt) >= checkupEvery {
		running := make(chan struct{})
		c.examination = running
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkupTime)
			defer cancel()
			found := failedExamination
			_ = c.guard.Do("checkup", func() error { found = c.examine(ctx); return nil })
			c.mu.Lock()
			defer c.mu.Unlock()
			c.diagnosis, c.examinedAt, c.examination = found, c.now(), nil
			close(running)
		}()
	}
	return c.examination
}
