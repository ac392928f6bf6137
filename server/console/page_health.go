package console

import (
	"context"
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
	Cells      []opsview.Cell       // the other cells
	Moves      []opsview.RegionMove // the moves of regions that have not ended
	Plots      []plotData           // of the game; empty: no worker has taken samples
	Machinery  []plotData           // of the director
	Ranges     []plotRange          // of the plots
	Range      plotRange            // the chosen one
}

// gameState is how the game is, with its last minutes for the lines in the tiles.
type gameState struct {
	Fleet       fleetTotals
	Queue       opsview.Queue  // over all universes; the oldest ticket is that of the slowest
	LostServers int            // game servers that died within the range of the plots
	Refused     *doctor.Figure // the figure of the check of refusals; nil: the diagnosis has none
	Requests    requestState
	Past        samples // of the range of the plots
}

// healthPage reads often what is cheap, and runs the checks of doctor rarely.
func (c *Console) healthPage() page[healthView] {
	checks := &checkup{examine: c.options.Doctor.Examine, now: c.now, guard: panics.New(c.options.Log, nil)}
	return page[healthView]{routePath: "/health", templateName: "health", readEvery: 3 * time.Second,
		loadData: func(ctx context.Context, s Store, q query) (v healthView, err error) {
			v.Diagnosis, v.ExaminedAt = checks.latestDiagnosis(ctx)
			// While the database does not answer, each reading below would wait for its timeout, and the page has to say
			// so now.
			if v.Diagnosis.Unreadable() {
				return v, nil
			}
			if v.Director, err = readViews(ctx, s, opsview.ReadHealth); err != nil {
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
	if err != nil {
		return v, err
	}
	v.Game.Fleet, v.Game.Past, v.Game.LostServers = totalsOf(counts), past, int(past.lineOf("lost", "").sumAll())
	v.Game.Refused = v.Diagnosis.FigureOf("refusals")
	if v.Game.Requests, err = readRequests(ctx, s, chosen); err != nil {
		return v, err
	}
	v.Ranges, v.Range, v.Plots, v.Machinery = ranges, chosen, past.gamePlots(), past.machineryPlots()
	if len(v.Plots) > 0 {
		v.Plots = append(v.Plots, v.Game.Requests.drawPlots()...)
	}
	return v, nil
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

// longSnapshot is how long a snapshot may block vacuum before the machinery is shown unfolded.
const longSnapshot = time.Minute

// IsMachineryWell reports whether nothing of the machinery needs somebody, so that it is folded.
func (v healthView) IsMachineryWell() bool {
	oldest := v.Oldest()
	return v.LateLoops == 0 && len(v.Director.Loops) > 0 && v.Signing() != nil && !v.Director.Amnesty.Amnesty &&
		(oldest == nil || oldest.Age < longSnapshot)
}

// pageByCheck has the page that shows what a check of doctor found.
var pageByCheck = map[string]string{
	"fleet": "/fleet", "seats": "/capacity", "drains": "/fleet?state=draining", "refusals": "/players",
	"tickets": "/queue", "agents": "/agents", "lobby": "/lobbies", "pools": "/deployments",
	"pool limits": "/deployments", "signing keys": "/keys", "sealing keys": "/keys",
	"enrolments": "/keys", "webhooks": "/webhooks", "valves": "/valves", "moves": "/moves",
}

// PageOf returns the page that shows what a check found; "": none does.
func (healthView) PageOf(check string) string { return pageByCheck[check] }

// IsVacuumHeld reports whether any snapshot blocks vacuum.
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

// Oldest returns the snapshot that has blocked vacuum for the longest time; nil: none does.
func (v healthView) Oldest() *opsview.Snapshot {
	var oldest *opsview.Snapshot
	for i, s := range v.Director.Snapshots {
		if s.Holders > 0 && (oldest == nil || s.Age > oldest.Age) {
			oldest = &v.Director.Snapshots[i]
		}
	}
	return oldest
}
