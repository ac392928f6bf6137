package delivery

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// readLog reads the rows of rooms after their positions. It returns the rooms that have no rows although there should
// be some.
func (f *logReader) readLog(ctx context.Context, page []*hubRoom,
	targets map[*hubRoom]int64) (gone []*hubRoom, err error) {
	reached := make(map[uuid.UUID]int64, len(page))
	for _, r := range page {
		reached[r.lobbyUID] = r.inbox.appliedPosition()
	}
	for more := true; more; {
		if more, err = f.readRows(ctx, reached); err != nil {
			return nil, err
		}
	}
	for _, r := range page {
		// The log ends before a position that the database has named: its rows were pruned or lost in a crash, since
		// the log is not written ahead.
		if reached[r.lobbyUID] < targets[r] {
			gone = append(gone, r)
		}
	}
	return gone, nil
}

// readRows reads one page of rows, and advances the positions as far as the rows follow each other.
func (f *logReader) readRows(ctx context.Context, reached map[uuid.UUID]int64) (more bool, err error) {
	rows, more, err := f.fetchRows(ctx, reached)
	if err != nil {
		return false, err
	}
	advanced := false
	for _, row := range rows {
		// A row may be missing because it was deleted; what comes after it cannot be applied.
		if row.LogPos == reached[row.LobbyUID]+1 {
			reached[row.LobbyUID] = row.LogPos
			advanced = true
		}
		if r := f.rooms.roomOf(row.LobbyUID); r != nil {
			r.offerRow(row, nil)
		}
	}
	// Without progress the next page would be the same one.
	return more && advanced, nil
}

// readSnapshots reads rooms whose log cannot be read, and sends them to their members.
func (f *logReader) readSnapshots(ctx context.Context, unreadable []*hubRoom) error {
	for page := range slices.Chunk(unreadable, db.MaxLobbySnapshots) {
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
	snapshots, err := f.options.Store.LobbySnapshots(ctx, f.options.Region, uids)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		r := f.rooms.roomOf(uid)
		if r == nil {
			continue
		}
		i := slices.IndexFunc(snapshots, func(s db.LobbySnapshot) bool { return s.LobbyUID == uid })
		// The room has ended, and so did its log.
		if i < 0 {
			r.inbox.runSoon(func(*batch) { r.endRoom() })
			continue
		}
		r.inbox.runSoon(func(b *batch) { r.resetTo(b, snapshots[i].Snapshot) })
	}
	return nil
}
