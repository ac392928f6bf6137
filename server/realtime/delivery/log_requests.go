package delivery

import (
	"maps"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// gapPause is how long a row after a gap waits before the gap is read from the log: answers may overtake each other in
// this process.
const gapPause = 5 * time.Millisecond

// logReads is what is to be read of the log.
type logReads struct {
	noticedRooms    map[*hubRoom]bool  // something may have happened
	gapTargets      map[*hubRoom]int64 // positions that exist, and that the room has not reached
	unreadableRooms map[*hubRoom]bool  // to be read as snapshots, since their rows may be gone
	overtakenJoins  []*joining         // whose rooms have applied rows after their answers
}

func newLogReads() logReads {
	return logReads{
		noticedRooms: map[*hubRoom]bool{}, gapTargets: map[*hubRoom]int64{}, unreadableRooms: map[*hubRoom]bool{},
	}
}

// logRequests collects what the rooms of a hub ask of the log. The methods named request wake the reader of the log,
// those named note leave it for the reader's next turn. Safe for concurrent use.
type logRequests struct {
	wake chan struct{}

	mu             sync.Mutex
	requestedReads logReads
}

func newLogRequests() *logRequests {
	return &logRequests{wake: make(chan struct{}, 1), requestedReads: newLogReads()}
}

// takeReads returns what was asked for since the last call.
func (q *logRequests) takeReads() logReads {
	q.mu.Lock()
	defer q.mu.Unlock()
	reads := q.requestedReads
	q.requestedReads = newLogReads()
	return reads
}

// requestRead asks to read the log of a room soon.
func (q *logRequests) requestRead(r *hubRoom) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requestedReads.noticedRooms[r] = true
	wait.Wake(q.wake)
}

// requestGap asks to read the log of a room up to a position, unless the room reaches it within gapPause.
func (q *logRequests) requestGap(r *hubRoom, target int64) {
	time.AfterFunc(gapPause, func() {
		// The rows before it have arrived: another answer of this process had overtaken them.
		if r.inbox.appliedPosition() >= target {
			return
		}
		q.noteGap(r, target)
		wait.Wake(q.wake)
	})
}

// requestSnapshot asks for a snapshot of a room.
func (q *logRequests) requestSnapshot(r *hubRoom) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requestedReads.unreadableRooms[r] = true
	wait.Wake(q.wake)
}

// requestJoinRows asks to read the rows after a join.
func (q *logRequests) requestJoinRows(j *joining) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requestedReads.overtakenJoins = append(q.requestedReads.overtakenJoins, j)
	wait.Wake(q.wake)
}

// noteGap asks to read the log of a room up to a position.
func (q *logRequests) noteGap(r *hubRoom, target int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requestedReads.gapTargets[r] = max(q.requestedReads.gapTargets[r], target)
}

// noteRowsAndSnapshot asks for a snapshot of a room, and for its rows first: the messages in them are in no snapshot.
func (q *logRequests) noteRowsAndSnapshot(r *hubRoom) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requestedReads.noticedRooms[r], q.requestedReads.unreadableRooms[r] = true, true
}

// noteAgain asks once more for what a failed reading has left.
func (q *logRequests) noteAgain(gaps map[*hubRoom]int64, unreadable map[*hubRoom]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r, target := range gaps {
		q.requestedReads.gapTargets[r] = max(q.requestedReads.gapTargets[r], target)
	}
	maps.Copy(q.requestedReads.unreadableRooms, unreadable)
}
