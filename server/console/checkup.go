package console

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/doctor"
)

// checkupEvery is how old a diagnosis may be: its checks read statistics of the whole database.
const checkupEvery = 15 * time.Second

// checkupTime bounds an examination, which takes a second where nothing is wrong, and 5 s more for each check whose
// query does not end.
const checkupTime = time.Minute

// checkupWait is how long a page waits for an examination. The rest of callTimeout is for what the page reads besides.
const checkupWait = 4 * time.Second

// checkup makes the diagnosis of the page Health, and keeps the latest one, so that all browsers share it. Safe for
// concurrent use.
type checkup struct {
	examine func(context.Context) doctor.Diagnosis
	now     func() time.Time
	guard   *panics.Guard

	mu          sync.Mutex
	diagnosis   doctor.Diagnosis
	examinedAt  time.Time
	examination chan struct{} // closed when the examination that runs has ended; nil: none runs
}

// latestDiagnosis returns the latest diagnosis and its time, and begins an examination if that is too old. It waits for
// the examination that runs, but not for a slow one: a page that waited for all checks of a database that hardly
// answers would show nothing at all.
func (c *checkup) latestDiagnosis(ctx context.Context) (doctor.Diagnosis, time.Time) {
	if running := c.beginExamination(ctx); running != nil {
		timeout := time.NewTimer(checkupWait)
		defer timeout.Stop()
		select {
		case <-running:
		case <-timeout.C:
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

// beginExamination begins an examination if none runs and the latest diagnosis is too old. It returns a channel that is
// closed when the examination that runs has ended; nil: none runs. The examination continues after ctx has ended, since
// others wait for it as well.
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
