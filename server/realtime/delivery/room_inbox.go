package delivery

import (
	"sync"
	"time"
)

// maxQueuedRows bounds the rows that a room has not applied; the others are read from the log later.
const maxQueuedRows = 512

// batch is one run of a room's queued jobs.
type batch struct {
	now             time.Time
	presenceChanged bool // the list of members changed
}

// roomInbox queues the work of a room, and runs it in one goroutine that ends when nothing is queued: a replica has
// many more rooms than rooms in which something happens. Its lock is held for no job, and no other lock is taken under
// it. Safe for concurrent use.
type roomInbox struct {
	runBatch func(jobs []func(*batch)) // called by one goroutine at a time
	isUnused func() bool               // called between two batches: the room has no members
	retire   func()                    // called once, when the room was unused and nothing was queued

	mu         sync.Mutex
	queuedJobs []func(*batch)
	queuedRows map[int64]bool // positions of the rows among the jobs
	droppedPos int64          // the last position of the rows that were dropped; 0: none were
	appliedPos int64          // the last position that the room has applied, for other goroutines
	isWorking  bool           // a goroutine runs the jobs
	isRetired  bool           // the room takes no jobs any more
}

// runSoon queues a job. It returns false if the room has retired, which has no members: another room takes its place.
func (q *roomInbox) runSoon(job func(*batch)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isRetired {
		return false
	}
	q.queueJob(job)
	return true
}

func (q *roomInbox) queueJob(job func(*batch)) {
	q.queuedJobs = append(q.queuedJobs, job)
	if !q.isWorking {
		q.isWorking = true
		go q.runJobs()
	}
}

// offerRow queues the job that applies a row, unless the row is known.
func (q *roomInbox) offerRow(pos int64, apply func(*batch)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// Each row comes twice, with the answer and from the log, and pages of the log are read again after a comparison.
	if q.isRetired || pos <= q.appliedPos || q.queuedRows[pos] {
		return
	}
	if len(q.queuedRows) >= maxQueuedRows {
		q.droppedPos = max(q.droppedPos, pos)
		return
	}
	q.queuedRows[pos] = true
	q.queueJob(apply)
}

// appliedPosition returns the position of the last row that was applied.
func (q *roomInbox) appliedPosition() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.appliedPos
}

// publishPosition publishes the room's position to other goroutines. It returns the last position of the rows that were
// dropped, 0 if none were.
func (q *roomInbox) publishPosition(applied int64) (dropped int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped, q.appliedPos, q.droppedPos = q.droppedPos, applied, 0
	return dropped
}

// runJobs runs batches of jobs until none is queued.
func (q *roomInbox) runJobs() {
	for {
		// Only this goroutine changes who is in the room, and it runs no job now.
		jobs, retired := q.takeJobs(q.isUnused())
		if retired {
			q.retire()
		}
		if jobs == nil {
			return
		}
		q.runBatch(jobs)
	}
}

// takeJobs returns the queued jobs; nil: there are none, and the goroutine must end. A room that is unused then retires
// in the same step, so that a session cannot enter in between and be forgotten.
func (q *roomInbox) takeJobs(unused bool) (jobs []func(*batch), retired bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs = q.queuedJobs
	q.queuedJobs, q.isWorking = nil, jobs != nil
	q.isRetired = jobs == nil && unused
	clear(q.queuedRows)
	return jobs, q.isRetired
}
