package console

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/doctor"
)

// healthView is what templates/health.html reads.
type healthView struct {
	Director   opsview.Health
	Diagnosis  doctor.Diagnosis
	ExaminedAt time.Time
	LateLoops  int
	Keys       []opsview.Key // the latest
	Plots      []plotData    // empty: no worker has taken samples
}

// healthPage reads often what is cheap, and runs the checks of doctor rarely.
func (c *Console) healthPage() page[healthView] {
	checks := &checkup{examine: c.Doctor.Examine, now: c.now, guard: panics.New(c.Log, nil)}
	return page[healthView]{path: "/health", template: "health", every: 3 * time.Second,
		load: func(ctx context.Context, s Store, _ query) (v healthView, err error) {
			v.Diagnosis, v.ExaminedAt = checks.latest(ctx)
			if v.Diagnosis.Unreadable() {
				return v, nil
			}
			if v.Director, err = readAll(ctx, s, opsview.ReadHealth); err != nil {
				return v, err
			}
			if v.Keys, _, err = list(ctx, s, opsview.Keys, opsview.KeyFilter{}, opsview.Page{Limit: 5}); err != nil {
				return v, err
			}
			past, err := readSamples(ctx, s, "", "tickets", "waiting_players", "oldest_ticket", "instances",
				"oldest_snapshot", "late_loops")
			v.Plots = past.healthPlots()
			return v.counted(), err
		}}
}

func (v healthView) counted() healthView {
	for _, l := range v.Director.Loops {
		if l.Late {
			v.LateLoops++
		}
	}
	return v
}

// Held reports whether anything keeps vacuum from cleaning.
func (v healthView) Held() bool { return v.Oldest() != nil }

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

	mu         sync.Mutex
	diagnosis  doctor.Diagnosis
	examinedAt time.Time
	running    chan struct{} // closed when the examination that runs has ended; nil: none runs
}

// latest returns the latest diagnosis, and begins another if that is too old. It waits for the examination that runs,
// but not for a slow one: a page that waited for all checks of a database that hardly answers would show nothing at
// all.
func (c *checkup) latest(ctx context.Context) (doctor.Diagnosis, time.Time) {
	if running := c.begin(ctx); running != nil {
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

// begin returns the examination that runs, after it began one if the latest diagnosis is too old; nil: none runs. The
// examination has no context of one of the callers, who may leave.
func (c *checkup) begin(ctx context.Context) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil && c.now().Sub(c.examinedAt) >= checkupEvery {
		running := make(chan struct{})
		c.running = running
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkupTime)
			defer cancel()
			found := failedExamination
			_ = c.guard.Do("checkup", func() error { found = c.examine(ctx); return nil })
			c.mu.Lock()
			defer c.mu.Unlock()
			c.diagnosis, c.examinedAt, c.running = found, c.now(), nil
			close(running)
		}()
	}
	return c.running
}
