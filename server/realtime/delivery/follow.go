package delivery

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// compareEvery is how often the positions of all rooms are compared with the database, because notifications can be
	// lost.
	compareEvery = 2 * time.Second
	// gapPause is how long a row behind a gap waits before the gap is read from the log: answers may overtake each
	// other in this process.
	gapPause = 5 * time.Millisecond
	// hubTimeout bounds a call of the database, each of which is repeated.
	hubTimeout = 3 * time.Second

	positionsPage = 2000
	logPage       = 500
)

// logReader reads from the log what other processes have done in the rooms of a hub.
type logReader struct {
	hub    *Hub
	wake   chan struct{}
	server time.Time // when the Postgres started whose positions were compared last; zero: none were

	mu              sync.Mutex
	noticedRooms    map[*hubRoom]bool  // something may have happened
	gapTargets      map[*hubRoom]int64 // positions that exist, and that the room has not reached
	unreadableRooms map[*hubRoom]bool  // the log cannot help
	overtakenJoins  []*joining         // whose rooms have applied rows behind their answers
}

func (f *logReader) init(h *Hub) {
	f.hub, f.wake = h, make(chan struct{}, 1)
	f.noticedRooms, f.gapTargets, f.unreadableRooms = map[*hubRoom]bool{}, map[*hubRoom]int64{}, map[*hubRoom]bool{}
}

// requestRead asks to read the log of a room soon.
func (f *logReader) requestRead(r *hubRoom) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticedRooms[r] = true
	wait.Wake(f.wake)
}

// requestGap asks to read the log of a room up to a position, unless the room reaches it within gapPause.
func (f *logReader) requestGap(r *hubRoom, target int64) {
	time.AfterFunc(gapPause, func() {
		// The rows before it have arrived: another answer of this process had overtaken them.
		if r.appliedPosition() >= target {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gapTargets[r] = max(f.gapTargets[r], target)
		wait.Wake(f.wake)
	})
}

// requestSnapshot asks for a snapshot of a room.
func (f *logReader) requestSnapshot(r *hubRoom) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unreadableRooms[r] = true
	wait.Wake(f.wake)
}

// requestJoinRows asks to read the rows behind a join.
func (f *logReader) requestJoinRows(j *joining) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overtakenJoins = append(f.overtakenJoins, j)
	wait.Wake(f.wake)
}

// followLog reads until ctx ends.
func (f *logReader) followLog(ctx context.Context) {
	follow.Loop{
		Name: "room log", Every: compareEvery, Wakes: follow.Wakes{f.hub.options.Feed.Wake(), f.wake},
		Guard:  f.hub.options.Guard,
		Report: f.hub.outageLog.Call("room log").Report,
		Do: func(ctx context.Context, inFull bool) error {
			mayHaveLost := f.takeNotices()
			return f.readOnce(ctx, inFull || mayHaveLost)
		},
	}.Run(ctx)
}

// takeNotices sorts the keys of notices by what they are about. It returns whether notices may have been lost.
func (f *logReader) takeNotices() (all bool) {
	keys, all := f.hub.options.Feed.Take()
	if all {
		// A lost notice may have been about a session as well as about a room.
		f.hub.newsReader.askAll()
	}
	for _, key := range keys {
		uid, err := uuid.Parse(key)
		// The keys of rooms are UUIDs, and those of sessions are not.
		if err != nil {
			f.hub.newsReader.askFor(key)
			continue
		}
		if r := f.hub.roomOf(uid); r != nil {
			f.requestRead(r)
		}
	}
	return all
}

// roomOf returns a room with members here, or nil.
func (h *Hub) roomOf(uid uuid.UUID) *hubRoom {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.rooms[uid]
}

// readOnce reads what the rooms have asked for, after a comparison of all positions if that is due. What could not be
// read is asked for again.
func (f *logReader) readOnce(ctx context.Context, compare bool) error {
	if compare {
		if err := f.comparePositions(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	notices, gaps, lost, joins := f.noticedRooms, f.gapTargets, f.unreadableRooms, f.overtakenJoins
	f.noticedRooms, f.gapTargets, f.unreadableRooms, f.overtakenJoins = map[*hubRoom]bool{}, map[*hubRoom]int64{}, map[*hubRoom]bool{}, nil
	f.mu.Unlock()
	// Joins first: their sessions wait to be sent the room.
	for page := range slices.Chunk(joins, logPage) {
		f.readJoins(ctx, page)
	}
	for r := range notices {
		// A notice names no position, so a room that has no rows is not taken for lost.
		gaps[r] = max(gaps[r], 0)
	}
	for page := range slices.Chunk(slices.Collect(maps.Keys(gaps)), logPage) {
		gone, err := f.readLog(ctx, page, gaps)
		if err != nil {
			f.requestAgain(gaps, lost)
			return err
		}
		for _, r := range gone {
			lost[r] = true
		}
	}
	if err := f.readSnapshots(ctx, slices.Collect(maps.Keys(lost))); err != nil {
		f.requestAgain(nil, lost)
		return err
	}
	return nil
}

// readJoins reads the rows behind joins and lets them enter their rooms.
func (f *logReader) readJoins(ctx context.Context, joins []*joining) {
	first := map[uuid.UUID]int64{}
	for _, j := range joins {
		pos, known := first[j.answer.LobbyUID]
		if !known || j.answer.RoomSnapshot.LogPosition < pos {
			first[j.answer.LobbyUID] = j.answer.RoomSnapshot.LogPosition
		}
	}
	after := make([]db.LobbyPos, 0, len(first))
	for uid, pos := range first {
		after = append(after, db.LobbyPos{LobbyUID: uid, LogPos: pos})
	}
	rows, _, err := f.fetchRows(ctx, after)
	// After a failure the sessions enter without these rows: they miss messages, but not the room.
	f.hub.outageLog.Report(ctx, "log behind joins", err)
	byRoom := map[uuid.UUID][]db.LobbyRow{}
	for _, row := range rows {
		byRoom[row.LobbyUID] = append(byRoom[row.LobbyUID], row)
	}
	for _, j := range joins {
		j.laterRows, j.logWasRead = byRoom[j.answer.LobbyUID], true
		f.hub.enterRoom(j)
	}
}

func (f *logReader) fetchRows(ctx context.Context, after []db.LobbyPos) (page []db.LobbyRow, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.hub.options.Store.LobbyLog(ctx, f.hub.options.Region, after)
}

// requestAgain asks for what a failed reading has left; the next comparison reads it.
func (f *logReader) requestAgain(gaps map[*hubRoom]int64, lost map[*hubRoom]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r, target := range gaps {
		f.gapTargets[r] = max(f.gapTargets[r], target)
	}
	maps.Copy(f.unreadableRooms, lost)
}

// comparePositions asks to read the log of each room that is behind, and ends the rooms that have ended. After a
// failover it asks to read all rooms: some may have been ahead of what the new server has.
func (f *logReader) comparePositions(ctx context.Context) error {
	f.hub.mu.RLock()
	uids := slices.Collect(maps.Keys(f.hub.rooms))
	f.hub.mu.RUnlock()
	server := f.server
	for page := range slices.Chunk(uids, positionsPage) {
		positions, err := f.readPositions(ctx, page)
		if err != nil {
			return err
		}
		if !positions.ServerStartedAt.IsZero() {
			server = positions.ServerStartedAt
		}
		isReplaced := !f.server.IsZero() && !server.Equal(f.server)
		for _, uid := range page {
			f.judgePosition(uid, positions.ByRoom, isReplaced)
		}
	}
	f.server = server
	return nil
}

func (f *logReader) readPositions(ctx context.Context, page []uuid.UUID) (db.LobbyPositions, error) {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.hub.options.Store.LobbyPositions(ctx, f.hub.options.Region, page)
}

func (f *logReader) judgePosition(uid uuid.UUID, positions map[uuid.UUID]int64, isServerReplaced bool) {
	r := f.hub.roomOf(uid)
	if r == nil {
		return
	}
	pos, exists := positions[uid]
	switch {
	case !exists:
		f.mu.Lock()
		f.noticedRooms[r], f.unreadableRooms[r] = true, true // its last rows may still be there
		f.mu.Unlock()
	case isServerReplaced:
		r.runSoon(func(*batch) { r.mayHaveLostRows = true })
		f.mu.Lock()
		f.noticedRooms[r], f.unreadableRooms[r] = true, true // messages of rows that follow are sent, too
		f.mu.Unlock()
	case pos > r.appliedPosition():
		f.mu.Lock()
		f.gapTargets[r] = max(f.gapTargets[r], pos)
		f.mu.Unlock()
	}
}

// readLog reads the rows of rooms behind their positions. It returns the rooms that have no rows although there should
// be some.
func (f *logReader) readLog(ctx context.Context, page []*hubRoom,
	targets map[*hubRoom]int64) (gone []*hubRoom, err error) {
	reached := make(map[uuid.UUID]int64, len(page))
	for _, r := range page {
		reached[r.lobbyUID] = r.appliedPosition()
	}
	for more := true; more; {
		if more, err = f.readRows(ctx, page, reached); err != nil {
			return nil, err
		}
	}
	for _, r := range page {
		if reached[r.lobbyUID] < targets[r] {
			gone = append(gone, r)
		}
	}
	return gone, nil
}

// readRows reads one page of rows, and advances the positions as far as the rows follow each other.
func (f *logReader) readRows(ctx context.Context, page []*hubRoom, reached map[uuid.UUID]int64) (more bool, err error) {
	after := make([]db.LobbyPos, len(page))
	for i, r := range page {
		after[i] = db.LobbyPos{LobbyUID: r.lobbyUID, LogPos: reached[r.lobbyUID]}
	}
	rows, more, err := f.fetchRows(ctx, after)
	if err != nil {
		return false, err
	}
	advanced := false
	for _, row := range rows {
		// A row may be missing because it was deleted; what lies behind it cannot be applied.
		if row.LogPos == reached[row.LobbyUID]+1 {
			reached[row.LobbyUID] = row.LogPos
			advanced = true
		}
		if r := f.hub.roomOf(row.LobbyUID); r != nil {
			r.offerRow(row, nil)
		}
	}
	// Without progress the next page would be the same one.
	return more && advanced, nil
}

// readSnapshots reads rooms whose log cannot be read, and sends them to their members.
func (f *logReader) readSnapshots(ctx context.Context, lost []*hubRoom) error {
	for page := range slices.Chunk(lost, db.MaxLobbySnapshots) {
		uids := make([]uuid.UUID, len(page))
		for i, r := range page {
			uids[i] = r.lobbyUID
		}
		if err := f.readSnapshotPage(ctx, uids); err != nil {
			return err
		}
	}
	return nil
}

func (f *logReader) readSnapshotPage(ctx context.Context, uids []uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	snapshots, err := f.hub.options.Store.LobbySnapshots(ctx, f.hub.options.Region, uids)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		r := f.hub.roomOf(uid)
		if r == nil {
			continue
		}
		if i := slices.IndexFunc(snapshots, func(s db.LobbySnapshot) bool { return s.LobbyUID == uid }); i >= 0 {
			r.runSoon(func(b *batch) { r.resetTo(b, snapshots[i].Snapshot) })
		} else {
			r.runSoon(func(*batch) { r.endRoom() })
		}
	}
	return nil
}
