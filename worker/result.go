package worker

import "time"

// Done counts the objects that a run handled, by kind: "instances", "keys", … A kind without objects has no entry.
type Done map[string]int

func (d Done) add(what string, n int) {
	if n > 0 {
		d[what] += n
	}
}

// count adds the result of step, also that of one that failed.
func (d Done) count(what string, step func() (int, error)) error {
	n, err := step()
	d.add(what, n)
	return err
}

// drain counts the results of a step that [drainBacklog] repeats.
func (d Done) drain(what string, batch int, step func() (int, error)) error {
	return drainBacklog(batch, func() (int, error) {
		n, err := step()
		d.add(what, n)
		return n, err
	})
}

// result is the outcome of one run of a loop.
type result struct {
	loopName   string
	doneCounts Done // complete up to the error, if there was one
	runTime    time.Duration
	err        error
	nextPause  time.Duration // until the next run
}
