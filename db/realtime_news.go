package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// maxNewsSessions bounds the sessions of a statement, and of a page of OwnedRealtime.
const maxNewsSessions = 1000

// ReadRealtimeNews returns news of sessions that a replica owns; sessions without news are left out. Call it for all
// sessions every ten seconds, and for single ones after a notification. Errors: Unavailable.
func (s *Store) ReadRealtimeNews(ctx context.Context, region string, replica uuid.UUID,
	sessions []SessionEpoch) ([]RealtimeNews, error) {
	var news []RealtimeNews
	for part := range slices.Chunk(sessions, maxNewsSessions) {
		some, err := s.readNews(ctx, region, replica, part)
		if err != nil {
			return nil, frame.Classify(err)
		}
		news = append(news, some...)
	}
	return news, nil
}

// readNews reads the news of up to maxNewsSessions sessions, in one round trip.
func (s *Store) readNews(ctx context.Context, region string, replica uuid.UUID,
	sessions []SessionEpoch) ([]RealtimeNews, error) {
	ask := query.RealtimeNewsParams{Region: region, Replica: replica}
	for _, e := range sessions {
		ask.Ids = append(ask.Ids, e.ID)
		ask.Epochs = append(ask.Epochs, e.Epoch)
	}
	var p tx.Pipeline
	var rows []query.RealtimeNewsRow
	var invited []query.RealtimeInvitationsRow
	var waits []query.RealtimeWaitsRow
	var expired []query.ExpiredWaitsRow
	var unread []query.UnreadMessagesRow
	query.Queue(&p, &rows, (*query.Queries).RealtimeNews, ask)
	query.Queue(&p, &waits, (*query.Queries).RealtimeWaits,
		query.RealtimeWaitsParams{Region: region, Sessions: ask.Ids})
	query.Queue(&p, &invited, (*query.Queries).RealtimeInvitations,
		query.RealtimeInvitationsParams{Region: region, Sessions: ask.Ids, Opened: []string{}})
	query.Queue(&p, &expired, (*query.Queries).ExpiredWaits,
		query.ExpiredWaitsParams{Region: region, Sessions: ask.Ids})
	query.Queue(&p, &unread, (*query.Queries).UnreadMessages,
		query.UnreadMessagesParams{Region: region, Sessions: ask.Ids})
	if err := s.q.Send(ctx, &p); err != nil {
		return nil, err
	}
	n := newsBySession{}
	for _, r := range unread {
		n.entry(r.Session).LastMessage = r.Last
	}
	for id, open := range invitationsBySession(invited) {
		n.entry(id).Invitations = open
	}
	for _, r := range waits {
		n.entry(r.Session).CurrentWait = &RealtimeWait{r.RoomType, int(r.Size), r.Asked,
			time.Duration(r.Seconds) * time.Second}
	}
	for _, r := range expired {
		n.entry(r.Session).ExpiredWait = &ExpiredWait{r.Ticket, r.RoomType, int(r.Size), r.Reason}
	}
	// Last, since a session that the replica does not own has no other news.
	for _, r := range rows {
		n.setOwnership(r)
	}
	return n.list(), nil
}

// newsBySession has one entry for each session with news.
type newsBySession map[string]*RealtimeNews

// entry returns the news of a session, to be completed.
func (n newsBySession) entry(id string) *RealtimeNews {
	if n[id] == nil {
		n[id] = &RealtimeNews{SessionID: id}
	}
	return n[id]
}

// setOwnership adds whether the replica owns a session. If it does not, the other news are dropped: the owner of the
// session delivers them.
func (n newsBySession) setOwnership(r query.RealtimeNewsRow) {
	if r.Superseded {
		delete(n, r.ID)
	}
	news := n.entry(r.ID)
	news.IsSuperseded, news.IsRevoked = r.Superseded, r.Revoked
}

func (n newsBySession) list() []RealtimeNews {
	list := make([]RealtimeNews, 0, len(n))
	for _, news := range n {
		list = append(list, *news)
	}
	return list
}

func invitationsBySession(rows []query.RealtimeInvitationsRow) map[string][]RealtimeInvitation {
	open := make(map[string][]RealtimeInvitation)
	for _, r := range rows {
		i := RealtimeInvitation{
			LobbyUID: r.Lobby, RoomID: r.Room, RoomType: r.Type, MatchSize: int(r.Size), Participants: r.Participants,
			FromSession: r.Inviter,
		}
		// A player without a name is named as its session.
		if r.InvitingPlayer != r.Inviter {
			i.FromPlayer = r.InvitingPlayer
		}
		open[r.Session] = append(open[r.Session], i)
	}
	return open
}

// OwnedRealtime returns a page of the sessions that a replica owns, by id: up to 1,000 behind the id after. One for
// which the replica has no connection was opened by a call whose outcome the replica does not know: suspend it. Errors:
// Unavailable.
func (s *Store) OwnedRealtime(ctx context.Context, region string, replica uuid.UUID,
	after string) ([]SessionEpoch, error) {
	rows, err := s.q.OwnedRealtime(ctx, query.OwnedRealtimeParams{Region: region, Replica: replica, After: after,
		Page: maxNewsSessions})
	if err != nil {
		return nil, frame.Classify(err)
	}
	owned := make([]SessionEpoch, len(rows))
	for i, r := range rows {
		owned[i] = SessionEpoch(r)
	}
	return owned, nil
}
