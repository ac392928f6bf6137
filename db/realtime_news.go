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

// newsAtOnce bounds the sessions of a statement, and of a page of OwnedRealtime.
const newsAtOnce = 1000

// RealtimeNews returns news of sessions that a replica owns; sessions without news are left out. Call it for all
// sessions every ten seconds, and for single ones after a notification. Errors: Unavailable.
func (s *Store) RealtimeNews(ctx context.Context, region string, replica uuid.UUID,
	sessions []SessionEpoch) ([]RealtimeNews, error) {
	var news []RealtimeNews
	for part := range slices.Chunk(sessions, newsAtOnce) {
		some, err := s.newsOf(ctx, region, replica, part)
		if err != nil {
			return nil, frame.Classify(err)
		}
		news = append(news, some...)
	}
	return news, nil
}

// newsOf reads in one round trip.
func (s *Store) newsOf(ctx context.Context, region string, replica uuid.UUID,
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
		n.newsOf(r.Session).LastMessage = r.Last
	}
	for id, open := range invitationsBySession(invited) {
		n.newsOf(id).Invitations = open
	}
	for _, r := range waits {
		n.newsOf(r.Session).CurrentWait = &RealtimeWait{r.RoomType, int(r.Size), r.Asked,
			time.Duration(r.Seconds) * time.Second}
	}
	for _, r := range expired {
		n.newsOf(r.Session).ExpiredWait = &ExpiredWait{r.Ticket, r.RoomType, int(r.Size), r.Reason}
	}
	for _, r := range rows {
		n.judge(r)
	}
	return n.list(), nil
}

// newsBySession has one entry for each session with news.
type newsBySession map[string]*RealtimeNews

func (n newsBySession) newsOf(id string) *RealtimeNews {
	if n[id] == nil {
		n[id] = &RealtimeNews{SessionID: id}
	}
	return n[id]
}

// judge adds whether the replica owns a session. One that it does not own has nothing to deliver.
func (n newsBySession) judge(r query.RealtimeNewsRow) {
	if r.Superseded {
		// Drops what the other statements found: the owner of the session delivers it.
		n[r.ID] = &RealtimeNews{SessionID: r.ID}
	}
	news := n.newsOf(r.ID)
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
		if r.InvitingPlayer != r.Inviter { // without a name, the player is the session
			i.FromPlayer = r.InvitingPlayer
		}
		open[r.Session] = append(open[r.Session], i)
	}
	return open
}

// OwnedRealtime returns a page of the sessions that a replica owns, by id: up to 1,000 behind the id after. A session
// without a connection was opened by a call whose outcome the replica does not know: suspend it. Errors: Unavailable.
func (s *Store) OwnedRealtime(ctx context.Context, region string, replica uuid.UUID,
	after string) ([]SessionEpoch, error) {
	rows, err := s.q.OwnedRealtime(ctx, query.OwnedRealtimeParams{Region: region, Replica: replica, After: after,
		Page: newsAtOnce})
	if err != nil {
		return nil, frame.Classify(err)
	}
	owned := make([]SessionEpoch, len(rows))
	for i, r := range rows {
		owned[i] = SessionEpoch(r)
	}
	return owned, nil
}
