package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
)

// erasurePass is one pass of an erasure over all tables. Sessions, seats and tickets end first, which leaves rows of
// history. Then all other rows about the player are erased, which takes a fraction of a second. History comes last,
// since it takes longer if there is very much of it. Each transaction is short and takes locks of one kind, in the
// order of the calls that use the tables.
type erasurePass struct {
	store       *Store
	row         query.GetErasureRow // Subs has the player first, then the player's sessions of the realtime lobby
	regions     []string
	changedRows int64 // changed or deleted rows
}

// player returns the player that is erased.
func (p *erasurePass) player() string { return p.row.Subs[0] }

func (p *erasurePass) run(ctx context.Context) (err error) {
	if p.regions, err = p.store.q.ErasureRegions(ctx); err != nil {
		return err
	}
	if err := p.endLobbySessions(ctx); err != nil {
		return err
	}
	for _, sub := range p.row.Subs {
		one := erasedPlayer{pass: p, player: sub, partyKey: partyKey([]string{sub})}
		if err := one.run(ctx); err != nil {
			return err
		}
	}
	return p.erasePartiesOfEvents(ctx)
}

// endLobbySessions ends the player's sessions in the realtime lobby. The tickets and seats of a session without a
// profile have its id as their player.
func (p *erasurePass) endLobbySessions(ctx context.Context) error {
	for _, region := range p.regions {
		// In parts, as workers end sessions: each transaction locks the rooms of its sessions.
		for {
			var ended []string
			n, err := p.store.endSessions(ctx, region, func(t *sessionTx) (ids []string, err error) {
				ended, err = t.q.LobbySessionsOfPlayer(ctx, query.LobbySessionsOfPlayerParams{
					Region: region, Player: p.player(), Most: maxSweptSessions})
				return ended, err
			})
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			p.changedRows += int64(n)
			// Their ids count as names of the player from now on.
			if err := p.addSessions(ctx, ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSessions adds sessions that have ended to the players of the erasure. A process that stops before that leaves ids
// in history that nothing connects with the player.
func (p *erasurePass) addSessions(ctx context.Context, ended []string) error {
	for _, id := range ended {
		// The erased player may be a session itself: the id of a session without a profile is its player.
		if id != p.player() {
			p.row.Subs = append(p.row.Subs, id)
		}
	}
	return p.store.q.AddErasedSessions(ctx, query.AddErasedSessionsParams{ID: p.row.ID, Sessions: ended})
}

// erasePartiesOfEvents changes the events of those who were in a party with the player.
func (p *erasurePass) erasePartiesOfEvents(ctx context.Context) error {
	for {
		var remaining int64
		err := p.inReaderTx(ctx, func(q *query.Queries) (err error) {
			remaining, err = q.ErasePartiesOfEvents(ctx, query.ErasePartiesOfEventsParams{
				Erasure: p.row.ID, Salt: p.row.Salt, Batch: historyBatch})
			return err
		})
		if err != nil || remaining == 0 {
			return err
		}
	}
}

// inReaderTx runs a transaction on a connection for large reads, whose planner uses the GIN indexes by which history
// finds a player. On connections for short transactions bitmap scans are off, so that a statement would read all of
// history.
func (p *erasurePass) inReaderTx(ctx context.Context, fn func(q *query.Queries) error) error {
	readers := p.store.frame
	readers.Pool = p.store.readerPool
	return readers.InBulkTxWithRetries(ctx, fn)
}
