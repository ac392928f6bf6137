package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
)

const (
	// compareEvery is how often the positions of all rooms are compared with the database, because notifications can be
	// lost.
	compareEvery = 2 * time.Second

	positionsPage = 2000 // rooms of a comparison: one statement of two columns each
	logPage       = 500  // rooms of a reading, each of which may have many rows
)

// logReader reads from the log what other processes have done in the rooms of a hub.
type logReader struct {
	options  HubOptions
	outages  *outage.Log
	rooms    *openRooms
	requests *logRequests
	news     *newsReader

	serverStartedAt time.Time // of the Postgres whose positions were compared last; zero: none were
}

// followLog reads until ctx ends.
func (f *logReader) followLog(ctx context.Context) {
	follow.Loop{
		Name: "room log", Every: compareEvery, Wakes: follow.Wakes{f.options.Feed.Wake(), f.requests.wake},
		Guard:  f.options.Guard,
		Report: f.outages.Call("room log").Report,
		Do: func(ctx context.Context, inFull bool) error {
			mayHaveLost := f.takeNotices()
			return f.readOnce(ctx, inFull || mayHaveLost)
		},
	}.Run(ctx)
}

// takeNotices asks to read the rooms and sessions that notices are about. It returns whether notices may have been
// lost.
func (f *logReader) takeNotices() (mayHaveLost bool) {
	keys, mayHaveLost := f.options.Feed.Take()
	if mayHaveLost {
		// A lost notice may have been about a session as well as about a room.
		f.news.askAll()
	}
	for _, key := range keys {
		uid, err := uuid.Parse(key)
		// The keys of rooms are UUIDs, and those of sessions are not.
		if err != nil {
			f.news.askFor(key)
			continue
		}
		if r := f.rooms.roomOf(uid); r != nil {
			f.requests.requestRead(r)
		}
	}
	return mayHaveLost
}

// readOnce reads what the rooms have asked for, after a comparison of all positions if that is due. What could not be
// read is asked for again.
func (f *logReader) readOnce(ctx context.Context, compare bool) error {
	if compare {
		if err := f.comparePositions(ctx); err != nil {
			return err
		}
	}
	reads := f.requests.takeReads()
	// Joins first: their sessions wait to be sent the room.
	for page := range slices.Chunk(reads.overtakenJoins, logPage) {
		f.readJoins(ctx, page)
	}
	if err := f.readGaps(ctx, reads); err != nil {
		f.requests.noteAgain(reads.gapTargets, reads.unreadableRooms)
		return err
	}
	// Last, since their rows may still have been in the log, and only rows have messages.
	if err := f.readSnapshots(ctx, slices.Collect(maps.Keys(reads.unreadableRooms))); err != nil {
		f.requests.noteAgain(nil, reads.unreadableRooms)
		return err
	}
	return nil
}

// readGaps reads the rows of the rooms that had notices or have gaps. It adds those whose rows are gone to the
// unreadable ones.
func (f *logReader) readGaps(ctx context.Context, reads logReads) error {
	for r := range reads.noticedRooms {
		// A notice names no position, so a room that has no rows is not taken for lost.
		reads.gapTargets[r] = max(reads.gapTargets[r], 0)
	}
	for page := range slices.Chunk(slices.Collect(maps.Keys(reads.gapTargets)), logPage) {
		gone, err := f.readLog(ctx, page, reads.gapTargets)
		if err != nil {
			return err
		}
		for _, r := range gone {
			reads.unreadableRooms[r] = true
		}
	}
	return nil
}

// readJoins reads the rows after joins and lets them enter their rooms.
func (f *logReader) readJoins(ctx context.Context, joins []*joining) {
	first := map[uuid.UUID]int64{}
	for _, j := range joins {
		pos, known := first[j.answer.LobbyUID]
		if !known || j.answer.RoomSnapshot.LogPosition < pos {
			first[j.answer.LobbyUID] = j.answer.RoomSnapshot.LogPosition
		}
	}
	byRoom, err := f.fetchRowsByRoom(ctx, first)
	// After a failure the sessions enter without these rows: they miss messages, but not the room.
	f.outages.Report(ctx, "log behind joins", err)
	for _, j := range joins {
		j.laterRows, j.logWasRead = byRoom[j.answer.LobbyUID], true
		f.rooms.enterRoom(j)
	}
}

// maxJoinPages bounds how many pages of the log, of 256 rows of a room, are read for joins. A session that is further
// behind misses messages.
const maxJoinPages = 8

// fetchRowsByRoom returns the rows of rooms after positions, in their order. After an error it returns what it has read.
func (f *logReader) fetchRowsByRoom(ctx context.Context,
	positions map[uuid.UUID]int64) (map[uuid.UUID][]db.LobbyRow, error) {
	byRoom := map[uuid.UUID][]db.LobbyRow{}
	for range maxJoinPages {
		rows, more, err := f.fetchRows(ctx, positions)
		if err != nil {
			return byRoom, err
		}
		for _, row := range rows {
			byRoom[row.LobbyUID] = append(byRoom[row.LobbyUID], row)
			positions[row.LobbyUID] = row.LogPos
		}
		if !more {
			break
		}
	}
	return byRoom, nil
}

// fetchRows returns one page of the rows of rooms after positions.
func (f *logReader) fetchRows(ctx context.Context,
	positions map[uuid.UUID]int64) (page []db.LobbyRow, more bool, err error) {
	after := make([]db.LobbyPos, 0, len(positions))
	for uid, pos := range positions {
		after = append(after, db.LobbyPos{LobbyUID: uid, LogPos: pos})
	}
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.options.Store.LobbyLog(ctx, f.options.Region, after)
}
