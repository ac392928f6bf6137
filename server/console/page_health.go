package console

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
)

// healthStore is what the page of health reads.
type healthStore interface {
	sampleStore

	ConsoleHealth(ctx context.Context) (db.HealthView, error)
}

// healthView is what templates/health.html reads.
type healthView struct {
	db.HealthView

	Diagnosis  doctor.Diagnosis
	ExaminedAt time.Time
	LateLoops  int
	Keys       db.KeysView
	Plots      []plotData // empty: no worker has taken samples
}

// healthPage reads often what is cheap, and runs the checks of doctor rarely.
func (c *Console) healthPage() page[healthView] {
	checks := &checkup{examine: c.Doctor.Examine, now: c.now}
	return page[healthView]{path: "/health", template: "health", every: 3 * time.Second, load: func(ctx context.Context, s Store, _ query) (v healthView, err error) {
		v.Diagnosis, v.ExaminedAt = checks.latest(ctx)
		if v.Diagnosis.Unreadable() {
			return v, nil
		}
		if v.HealthView, err = s.ConsoleHealth(ctx); err != nil {
			return v, err
		}
		if v.Keys, err = s.ConsoleKeys(ctx, 5); err != nil {
			return v, err
		}
		past, err := readSamples(ctx, s, "", "tickets", "waiting_players", "oldest_ticket", "instances", "oldest_snapshot", "late_loops")
		v.Plots = past.healthPlots()
		return v.counted(), err
	}}
}

func (v healthView) counted() healthView {
	for _, l := range v.Loops {
		if l.Late {
			v.LateLoops++
		}
	}
	return v
}

// Held reports whether anything keeps vacuum from cleaning.
func (v healthView) Held() bool { return v.Oldest() != nil }

// Signing returns the key that signs now; nil: none does.
func (v healthView) Signing() *db.ConsoleKey {
	for i, k := range v.Keys.Keys {
		if k.State == "signing" {
			return &v.Keys.Keys[i]
		}
	}
	return nil
}

// Oldest returns what has kept vacuum from cleaning for the longest time; nil: nothing has.
func (v healthView) Oldest() *db.SnapshotView {
	var oldest *db.SnapshotView
	for i, s := range v.Snapshots {
		if s.Holders > 0 && (oldest == nil || s.Age > oldest.Age) {
			oldest = &v.Snapshots[i]
		}
	}
	return oldest
}

// checkupEvery is how old a diagnosis may be: its checks read statistics of the whole database.
const checkupEvery = 15 * time.Second

// checkup keeps the latest diagnosis, so that all who look share one. Safe for concurrent use.
type checkup struct {
	examine func(context.Context) doctor.Diagnosis
	now     func() time.Time

	mu    sync.Mutex
	found doctor.Diagnosis
	at    time.Time
}

// latest examines if the latest diagnosis is too old. Callers that come meanwhile wait for it. It takes no context of one of them, who may
// leave.
func (c *checkup) latest(ctx context.Context) (doctor.Diagnosis, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.at) >= checkupEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*callTimeout)
		defer cancel()
		c.found = c.examine(ctx)
		c.at = c.now()
	}
	return c.found, c.at
}
