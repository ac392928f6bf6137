package realtime

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// compareEvery is how often the positions of all rooms are compared with the database, because notifications can be lost.
	compareEvery = 2 * time.Second
	// gapPause is how long a row behind a gap waits before the gap is read from the log: answers may overtake each other in this process.
	gapPause = 5 * time.Millisecond
	// hubTimeout bounds a call of the database, each of which is repeated.
	hubTimeout = 3 * time.Second

	positionsPage = 2000
	logPage       = 500
)

// reader reads from the log what other processes have done in the rooms of a hub.
type reader struct {
	hub  *hub
	wake chan struct{}

	mu      sync.Mutex
	notices map[*hubRoom]bool  // something may have happened
	gaps    map[*hubRoom]int64 // positions that exist, and that the room has not reached
	lost    map[*hubRoom]bool  // the log cannot help
	joins   []*joining         // whose rooms have applied rows behind their answers
}

func (f *reader) init(h *hub) {
	f.hub, f.wake = h, make(chan struct{}, 1)
	f.notices, f.gaps, f.lost = map[*hubRoom]bool{}, map[*hubRoom]int64{}, map[*hubRoom]bool{}
}

// woken asks to read the log of a room soon.
func (f *reader) woken(r *hubRoom) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices[r] = true
	wait.Wake(f.wake)
}

// behind asks to read the log of a room up to a position, unless the room reaches it within gapPause.
func (f *reader) behind(r *hubRoom, target int64) {
	time.AfterFunc(gapPause, func() {
		if r.position() >= target {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gaps[r] = max(f.gaps[r], target)
		wait.Wake(f.wake)
	})
}

// unreadable asks for a snapshot of a room.
func (f *reader) unreadable(r *hubRoom) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[r] = true
	wait.Wake(f.wake)
}

// overtaken asks to read the rows behind a join.
func (f *reader) overtaken(j *joining) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joins = append(f.joins, j)
	wait.Wake(f.wake)
}

// run reads until ctx ends.
func (f *reader) run(ctx context.Context) {
	every := time.NewTicker(compareEvery)
	defer every.Stop()
	for {
		compare := false
		select {
		case <-f.hub.Feed.Wake():
			compare = f.takeNotices()
		case <-f.wake:
		case <-every.C:
			compare = true
		case <-ctx.Done():
			return
		}
		began := time.Now()
		err := f.hub.Guard.Do("room log", func() error { return f.readOnce(ctx, compare) })
		f.hub.trouble.Report(ctx, "room log", err)
		if !wait.For(ctx, time.Since(began)) { // so that reads take at most half of the time at any rate of notifications
			return
		}
	}
}

// takeNotices sorts the keys of notices by what they are about. It returns whether notices may have been lost.
func (f *reader) takeNotices() (all bool) {
	keys, all := f.hub.Feed.Take()
	if all {
		f.hub.news.askAll()
	}
	for _, key := range keys {
		uid, err := uuid.Parse(key)
		if err != nil {
			f.hub.news.ask(key)
			continue
		}
		if r := f.hub.room(uid); r != nil {
			f.woken(r)
		}
	}
	return all
}

// room returns a room with members here, or nil.
func (h *hub) room(uid uuid.UUID) *hubRoom {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.rooms[uid]
}

// readOnce reads what the rooms have asked for, after a comparison of all positions if that is due. What could not be read is asked for again.
func (f *reader) readOnce(ctx context.Context, compare bool) error {
	if compare {
		if err := f.compare(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	notices, gaps, lost, joins := f.notices, f.gaps, f.lost, f.joins
	f.notices, f.gaps, f.lost, f.joins = map[*hubRoom]bool{}, map[*hubRoom]int64{}, map[*hubRoom]bool{}, nil
	f.mu.Unlock()
	for page := range slices.Chunk(joins, logPage) {
		f.readJoins(ctx, page)
	}
	for r := range notices {
		gaps[r] = max(gaps[r], 0)
	}
	for page := range slices.Chunk(slices.Collect(maps.Keys(gaps)), logPage) {
		gone, err := f.readLog(ctx, page, gaps)
		if err != nil {
			f.again(gaps, lost)
			return err
		}
		for _, r := range gone {
			lost[r] = true
		}
	}
	if err := f.readSnapshots(ctx, slices.Collect(maps.Keys(lost))); err != nil {
		f.again(nil, lost)
		return err
	}
	return nil
}

// readJoins reads the rows behind joins and lets them enter their rooms.
func (f *reader) readJoins(ctx context.Context, joins []*joining) {
	first := map[uuid.UUID]int64{}
	for _, j := range joins {
		pos, known := first[j.answer.Lobby]
		if !known || j.answer.Room.Pos < pos {
			first[j.answer.Lobby] = j.answer.Room.Pos
		}
	}
	after := make([]db.LobbyPos, 0, len(first))
	for uid, pos := range first {
		after = append(after, db.LobbyPos{Lobby: uid, Pos: pos})
	}
	rows, _, err := f.rows(ctx, after)
	f.hub.trouble.Report(ctx, "log behind joins", err)
	byRoom := map[uuid.UUID][]db.LobbyRow{}
	for _, row := range rows {
		byRoom[row.Lobby] = append(byRoom[row.Lobby], row)
	}
	for _, j := range joins {
		j.rows, j.read = byRoom[j.answer.Lobby], true
		f.hub.enter(j)
	}
}

func (f *reader) rows(ctx context.Context, after []db.LobbyPos) (page []db.LobbyRow, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.hub.Store.LobbyLog(ctx, f.hub.Region, after)
}

// again asks for what a failed reading has left; the next comparison reads it.
func (f *reader) again(gaps map[*hubRoom]int64, lost map[*hubRoom]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r, target := range gaps {
		f.gaps[r] = max(f.gaps[r], target)
	}
	maps.Copy(f.lost, lost)
}

// compare asks to read the log of each room that is behind, and ends the rooms that have ended.
func (f *reader) compare(ctx context.Context) error {
	f.hub.mu.RLock()
	uids := slices.Collect(maps.Keys(f.hub.rooms))
	f.hub.mu.RUnlock()
	for page := range slices.Chunk(uids, positionsPage) {
		positions, err := f.positions(ctx, page)
		if err != nil {
			return err
		}
		for _, uid := range page {
			f.judge(uid, positions)
		}
	}
	return nil
}

func (f *reader) positions(ctx context.Context, page []uuid.UUID) (map[uuid.UUID]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.hub.Store.LobbyPositions(ctx, f.hub.Region, page)
}

func (f *reader) judge(uid uuid.UUID, positions map[uuid.UUID]int64) {
	r := f.hub.room(uid)
	if r == nil {
		return
	}
	pos, exists := positions[uid]
	switch {
	case !exists:
		f.mu.Lock()
		f.notices[r], f.lost[r] = true, true // its last rows may still be there
		f.mu.Unlock()
	case pos > r.position():
		f.mu.Lock()
		f.gaps[r] = max(f.gaps[r], pos)
		f.mu.Unlock()
	}
}

// readLog reads the rows of rooms behind their positions. It returns the rooms that have no rows although there should be some.
func (f *reader) readLog(ctx context.Context, page []*hubRoom, targets map[*hubRoom]int64) (gone []*hubRoom, err error) {
	reached := make(map[uuid.UUID]int64, len(page))
	for _, r := range page {
		reached[r.uid] = r.position()
	}
	for more := true; more; {
		if more, err = f.readRows(ctx, page, reached); err != nil {
			return nil, err
		}
	}
	for _, r := range page {
		if reached[r.uid] < targets[r] {
			gone = append(gone, r)
		}
	}
	return gone, nil
}

// readRows reads one page of rows, and advances the positions as far as the rows follow each other.
func (f *reader) readRows(ctx context.Context, page []*hubRoom, reached map[uuid.UUID]int64) (more bool, err error) {
	after := make([]db.LobbyPos, len(page))
	for i, r := range page {
		after[i] = db.LobbyPos{Lobby: r.uid, Pos: reached[r.uid]}
	}
	rows, more, err := f.rows(ctx, after)
	if err != nil {
		return false, err
	}
	advanced := false
	for _, row := range rows {
		if row.Pos == reached[row.Lobby]+1 {
			reached[row.Lobby] = row.Pos
			advanced = true
		}
		if r := f.hub.room(row.Lobby); r != nil {
			r.offer(row, nil)
		}
	}
	return more && advanced, nil
}

// readSnapshots reads rooms whose log cannot be read, and sends them to their members.
func (f *reader) readSnapshots(ctx context.Context, lost []*hubRoom) error {
	for page := range slices.Chunk(lost, db.MaxLobbySnapshots) {
		uids := make([]uuid.UUID, len(page))
		for i, r := range page {
			uids[i] = r.uid
		}
		if err := f.readSnapshotPage(ctx, uids); err != nil {
			return err
		}
	}
	return nil
}

func (f *reader) readSnapshotPage(ctx context.Context, uids []uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	snapshots, err := f.hub.Store.LobbySnapshots(ctx, f.hub.Region, uids)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		r := f.hub.room(uid)
		if r == nil {
			continue
		}
		if i := slices.IndexFunc(snapshots, func(s db.LobbySnapshot) bool { return s.Lobby == uid }); i >= 0 {
			r.do(func(b *batch) { r.reset(b, snapshots[i].Snapshot) })
		} else {
			r.do(func(*batch) { r.end() })
		}
	}
	return nil
}
