package orchestrator

import "slices"

// maxAcks limits the acks of a connection that wait for the database. The next snapshot shows the results of commands
// whose ack was dropped.
const maxAcks = 32

// jobQueue holds the jobs of a connection that its lane has not started, in the order of execution. It keeps up to
// maxAcks acks but only the newest snapshot, confirmation, miss and leave, so it stays bounded during a database
// outage.
type jobQueue struct {
	queuedJobs []job
	ackCount   int
	isClosed   bool // the agent leaves: nothing follows
}

// pushJob adds a job, and drops the jobs that it replaces. It returns false if the job is an ack and too many acks wait.
func (q *jobQueue) pushJob(j job) bool {
	// A job after the leave is dropped, since the leave deletes the rows of the agent.
	if q.isClosed {
		return true
	}
	switch j.(type) {
	case ackJob:
		if q.ackCount == maxAcks {
			return false
		}
		q.ackCount++
	// A full state has all that earlier replies said.
	case snapshotJob:
		q.dropJobs(isA[snapshotJob], isA[confirmJob])
	case confirmJob:
		q.dropJobs(isA[confirmJob])
	// A later count of misses replaces the one before it.
	case missJob:
		q.dropJobs(isA[missJob])
	case leaveJob:
		// A miss that made the agent stale stays, because the database writes an event for it.
		q.dropJobs(isA[snapshotJob], isA[confirmJob], isMinor)
		q.isClosed = true
	}
	q.queuedJobs = append(q.queuedJobs, j)
	return true
}

func (q *jobQueue) dropJobs(kinds ...func(job) bool) {
	q.queuedJobs = slices.DeleteFunc(q.queuedJobs, func(j job) bool {
		return slices.ContainsFunc(kinds, func(is func(job) bool) bool { return is(j) })
	})
}

func isA[T job](j job) bool {
	_, is := j.(T)
	return is
}

// isMinor reports whether a job is a miss that does not make the agent stale.
func isMinor(j job) bool {
	m, is := j.(missJob)
	return is && m.missedPolls < staleMisses
}

// popJob removes and returns the first job; nil: the queue is empty.
func (q *jobQueue) popJob() job {
	if len(q.queuedJobs) == 0 {
		return nil
	}
	j := q.queuedJobs[0]
	q.queuedJobs = slices.Delete(q.queuedJobs, 0, 1)
	if isA[ackJob](j) {
		q.ackCount--
	}
	return j
}
