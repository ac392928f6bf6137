package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
)

// newsAtOnce bounds the sessions of a statement.
const newsAtOnce = 1000

// RealtimeNews returns news of sessions that a replica owns; sessions without news are left out. Call it for all sessions every ten seconds, and for
// single ones after a notification. Errors: Unavailable.
func (s *Store) RealtimeNews(ctx context.Context, region string, replica uuid.UUID, sessions []SessionEpoch) ([]RealtimeNews, error) {
	var news []RealtimeNews
	for part := range slices.Chunk(sessions, newsAtOnce) {
		some, err := s.newsOf(ctx, region, replica, part)
		if err != nil {
			return nil, classify(err)
		}
		news = append(news, some...)
	}
	return news, nil
}

// newsOf reads in one round trip.
func (s *Store) newsOf(ctx context.Context, region string, replica uuid.UUID, sessions []SessionEpoch) ([]RealtimeNews, error) {
	ask := RealtimeNewsParams{Region: region, Replica: replica}
	for _, e := range sessions {
		ask.Ids, ask.Epochs = append(ask.Ids, e.ID), append(ask.Epochs, e.Epoch)
	}
	var p tx.Pipeline
	var rows []RealtimeNewsRow
	var invited []RealtimeInvitationsRow
	queue(&p, &rows, (*Queries).RealtimeNews, ask)
	queue(&p, &invited, (*Queries).RealtimeInvitations, RealtimeInvitationsParams{Region: region, Sessions: ask.Ids})
	if err := s.q.send(ctx, &p); err != nil {
		return nil, err
	}
	return mergeNews(rows, invited), nil
}

// mergeNews returns the news of each session in one entry. A session that the replica does not own has no invitations to deliver.
func mergeNews(rows []RealtimeNewsRow, invited []RealtimeInvitationsRow) []RealtimeNews {
	open := invitationsBySession(invited)
	news := make([]RealtimeNews, 0, len(rows)+len(open))
	for _, r := range rows {
		n := RealtimeNews{ID: r.ID, Superseded: r.Superseded, Revoked: r.Revoked}
		if !r.Superseded {
			n.Invitations = open[r.ID]
		}
		delete(open, r.ID)
		news = append(news, n)
	}
	for id, all := range open {
		news = append(news, RealtimeNews{ID: id, Invitations: all})
	}
	return news
}

// realtimeInvitations returns the open invitations of sessions.
func (q *Queries) realtimeInvitations(ctx context.Context, region string, sessions []string) (map[string][]RealtimeInvitation, error) {
	rows, err := q.RealtimeInvitations(ctx, RealtimeInvitationsParams{Region: region, Sessions: sessions})
	return invitationsBySession(rows), err
}

func invitationsBySession(rows []RealtimeInvitationsRow) map[string][]RealtimeInvitation {
	open := make(map[string][]RealtimeInvitation)
	for _, r := range rows {
		open[r.Session] = append(open[r.Session], RealtimeInvitation{
			Lobby: r.Lobby, Room: r.Room, Type: r.Type, Size: int(r.Size), Participants: r.Participants,
		})
	}
	return open
}
