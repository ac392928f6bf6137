package delivery

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// comparePositions asks to read the log of each room that is behind the database, and the snapshots of rooms that have
// ended, which ends them here. After a failover it asks to read all rooms: some may have been ahead of what the new
// server has.
func (f *logReader) comparePositions(ctx context.Context) error {
	server := f.serverStartedAt
	for page := range slices.Chunk(f.rooms.allUIDs(), positionsPage) {
		positions, err := f.readPositions(ctx, page)
		if err != nil {
			return err
		}
		if !positions.ServerStartedAt.IsZero() {
			server = positions.ServerStartedAt
		}
		isReplaced := !f.serverStartedAt.IsZero() && !server.Equal(f.serverStartedAt)
		for _, uid := range page {
			f.requestMissing(uid, positions.ByRoom, isReplaced)
		}
	}
	f.serverStartedAt = server
	return nil
}

func (f *logReader) readPositions(ctx context.Context, page []uuid.UUID) (db.LobbyPositions, error) {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	return f.options.Store.ReadLobbyPositions(ctx, f.options.Region, page)
}

// requestMissing asks to read what a room lacks by the positions of the database.
func (f *logReader) requestMissing(uid uuid.UUID, positions map[uuid.UUID]int64, isServerReplaced bool) {
	r := f.rooms.roomOf(uid)
	if r == nil { // its last member left while the positions were read
		return
	}
	pos, exists := positions[uid]
	switch {
	case !exists:
		f.requests.noteRowsAndSnapshot(r) // its last rows may still be there
	case isServerReplaced:
		r.inbox.runSoon(func(*batch) { r.mayHaveLostRows = true })
		f.requests.noteRowsAndSnapshot(r)
	case pos > r.inbox.appliedPosition():
		f.requests.noteGap(r, pos)
	}
}
