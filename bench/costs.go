package bench

import (
	"context"
	"fmt"
	"time"
)

// costMeter measures what a run uses.
type costMeter struct {
	job    *Job
	record *record
	fail   context.CancelCauseFunc // ends the run

	isBegun  chan struct{} // closed when the next three are set
	answered int64
	first    Reading
	start    time.Time // when first was read

	background Reading       // used before the load
	restTime   time.Duration // in which it was used; 0: it was not measured
}

// newCostMeter makes a meter of a job, which may have none to read. An error during the load fails the run.
func newCostMeter(job *Job, r *record, fail context.CancelCauseFunc) *costMeter {
	return &costMeter{job: job, record: r, fail: fail, isBegun: make(chan struct{})}
}

// rest measures what is used while nothing is called. Without Options.Background it returns at once.
func (m *costMeter) rest(ctx context.Context) error {
	if m.job.Options.Meter == nil || m.job.Options.Background == 0 {
		return nil
	}
	m.job.Enter("measuring without calls")
	first, err := m.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := Pause(ctx, m.job.Options.Background); err != nil {
		return err
	}
	m.restTime = time.Since(start)
	last, err := m.read(ctx)
	m.background = last.Plus(first, -1)
	return err
}

// begin reads the meter for the first time during the load.
func (m *costMeter) begin(ctx context.Context) {
	defer close(m.isBegun)
	if m.job.Options.Meter == nil {
		return
	}
	m.answered = m.record.answered.Load()
	var err error
	if m.first, err = m.read(ctx); err != nil { // a timer calls begin: nobody waits for its error
		m.fail(err)
	}
	m.start = time.Now()
}

// end reads the meter again and returns what was used in between; nil without a meter.
func (m *costMeter) end(ctx context.Context) (*Costs, error) {
	<-m.isBegun // a limited number of turns may be over before the warm-up is
	if m.job.Options.Meter == nil {
		return nil, nil //nolint:nilnil // costs are not measured
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	last, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	used, answered := last.Plus(m.first, -1), m.record.answered.Load()-m.answered
	if m.restTime == 0 { // Background was not asked for: the costs contain what runs without calls
		return used.costs(answered), nil
	}
	costs := used.Plus(m.background, -float64(time.Since(m.start))/float64(m.restTime)).costs(answered)
	costs.Background = &Background{m.restTime.Seconds(), float64(m.background.ServerCPU) / float64(m.restTime),
		float64(m.background.PostgresCPU) / float64(m.restTime)}
	return costs, nil
}

// read reads the meter of the job, and says what failed.
func (m *costMeter) read(ctx context.Context) (Reading, error) {
	r, err := m.job.Options.Meter.Read(ctx)
	if err != nil {
		return r, fmt.Errorf("the meter of costs cannot be read: %w", err)
	}
	return r, nil
}
