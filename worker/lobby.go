package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

const (
	lobbyBatch    = 500
	lobbyLogBatch = 5000
)

// wholeLogEvery is the interval at which logs are pruned from their first row, instead of from the row that was pruned
// last: another worker may have locked older rows and stopped before it deleted them.
const wholeLogEvery = 10 * time.Minute

// lobbyCleaner closes empty rooms of the realtime lobby, deletes expired invitations, and prunes the logs of rooms.
// Nothing depends on when it runs: an invitation counts until it expires, and replicas read logs from the positions
// that they know.
type lobbyCleaner struct {
	store        *db.Store
	pruneMarks   map[string]time.Time // by region: the time of the newest row that was pruned
	marksResetAt time.Time            // when the marks were last dropped
}

func (c *lobbyCleaner) runOnce(ctx context.Context) (Done, error) {
	if time.Since(c.marksResetAt) >= wholeLogEvery {
		// The marks of all regions at once, so that expensive runs are rare.
		c.pruneMarks, c.marksResetAt = map[string]time.Time{}, time.Now()
	}
	done := Done{}
	return done, eachRegion(ctx, c.store.LobbyRegions, func(region string) error {
		// Invitations first: without them, more rooms may be empty.
		return runSteps(ctx, func() error { return c.dropExpired(ctx, region, done) },
			func() error { return c.closeRooms(ctx, region, done) },
			func() error { return c.pruneLogs(ctx, region, done) })
	})
}

// dropExpired deletes expired invitations, and inboxes that nobody uses any more.
func (c *lobbyCleaner) dropExpired(ctx context.Context, region string, done Done) error {
	invitations := done.drain("rooms_with_expired_invitations", 1, func() (int, error) {
		return c.store.DropExpiredInvitations(ctx, region, lobbyBatch)
	})
	ofPlayers := done.drain("invitations_expired", lobbyBatch, func() (int, error) {
		return c.store.DropExpiredPlayerInvitations(ctx, region, lobbyBatch)
	})
	inboxes := done.drain("inboxes_dropped", lobbyBatch, func() (int, error) {
		return c.store.DropUnusedInboxes(ctx, region, lobbyBatch)
	})
	return errors.Join(invitations, ofPlayers, inboxes)
}

func (c *lobbyCleaner) closeRooms(ctx context.Context, region string, done Done) error {
	return drainBacklog(lobbyBatch, func() (int, error) {
		// The rows that were looked at decide whether there are more, since some of them may not be empty any more.
		seen, closed, err := c.store.CloseEmptyLobbies(ctx, region, lobbyBatch)
		done.add("rooms_closed", closed)
		return seen, err
	})
}

func (c *lobbyCleaner) pruneLogs(ctx context.Context, region string, done Done) error {
	return drainBacklog(lobbyLogBatch, func() (int, error) {
		n, newest, err := c.store.PruneLobbyLog(ctx, region, c.pruneMarks[region], lobbyLogBatch)
		c.pruneMarks[region] = newest
		done.add("lobby_log_rows", n)
		return n, err
	})
}
