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

// leaveJob is the last job of a connection.
type leaveJob struct{}

// pushJob returns false if an ack is dropped because too many wait.
func (q *jobQueue) pushJob(j job) bool {
	// Nothing is lost by it: the rows of the agent go with the leave.
	if q.isClosed {
		return true
	}
	switch j.(type) {
	case ackJob:
		if q.ackCount == maxAcks {
			return false
		}
		q.ackCount++
	// A newer full state has all that those before it said.
	case snapshotJob:
		q.dropJobs(isA[snapshotJob], isA[confirmJob])
	case confirmJob:
		q.dropJobs(isA[confirmJob])
	// Only the last count matters.
	case missJob:
		q.dropJobs(isA[missJob])
	case leaveJob:
		// a miss that made the agent stale stays, because it is an event
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

// popJob returns nil if the queue is empty.
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
