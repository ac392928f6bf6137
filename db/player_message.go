package db

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// maxMessagesAMinute bounds what a player sends to others.
	maxMessagesAMinute = 60
	// maxPlayerMessage is how many bytes the data of a message between players may have.
	maxPlayerMessage = 8 << 10
)

// NewPlayerMessage is a message to a player, whichever sessions it has or will have.
type NewPlayerMessage struct {
	Region, ProjectID, Recipient string
	FromSession, FromPlayer      string // empty: a backend sends it, whom nobody can block
	Type                         string
	Data                         json.RawMessage
	EventKind, EventActor        string // of an event in the same transaction; empty: there is none
}

// PlayerMessage is a message to a player.
type PlayerMessage struct {
	Number                  int64 // among those to the player, from 1
	SentAt                  time.Time
	FromSession, FromPlayer string
	Type                    string
	Data                    json.RawMessage
}

// SendToPlayer stores a message for a player and wakes the replicas with its connections. reached is their number; it is
// 0 as well for a player who has blocked the sender, to whom nothing is stored. Errors: TooMany, "too_many_messages";
// Invalid for data that is too long; Unavailable.
func (s *Store) SendToPlayer(ctx context.Context, m NewPlayerMessage) (reached int, err error) {
	if !isStorable(m.ProjectID) || !isStorable(m.Recipient) || !isStorable(m.Type) || len(m.Data) > maxPlayerMessage {
		return 0, &fault.Error{Kind: fault.Invalid, Code: CodeValidation, Field: "data",
			Detail: "must have at most 8 KiB"}
	}
	var sessions []string
	err = s.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
		sessions, err = m.send(ctx, q)
		return err
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	s.notifyRealtime(m.Region, sessions...)
	return len(sessions), nil
}

// send stores the message, and returns the sessions to wake.
func (m NewPlayerMessage) send(ctx context.Context, q *query.Queries) (sessions []string, err error) {
	players := []string{m.Recipient}
	// In the order of all who lock inboxes, so that two players who write to each other do not deadlock.
	if m.FromPlayer != "" && m.FromPlayer != m.Recipient {
		players = append(players, m.FromPlayer)
		slices.Sort(players)
	}
	var p tx.Pipeline
	var inboxes []query.LockInboxesRow
	query.QueueExec(&p, (*query.Queries).EnsureInboxes,
		query.EnsureInboxesParams{Region: m.Region, Project: m.ProjectID, Players: players})
	query.Queue(&p, &inboxes, (*query.Queries).LockInboxes,
		query.LockInboxesParams{Region: m.Region, Project: m.ProjectID, Players: players, Sender: m.FromPlayer})
	query.Queue(&p, &sessions, (*query.Queries).ConnectedSessions,
		query.ConnectedSessionsParams{Region: m.Region, Project: m.ProjectID, Player: m.Recipient})
	if err := q.Send(ctx, &p); err != nil {
		return nil, err
	}
	return m.put(ctx, q, inboxes, sessions)
}

// put decides about the message, with the inboxes of its players locked.
func (m NewPlayerMessage) put(ctx context.Context, q *query.Queries, inboxes []query.LockInboxesRow,
	sessions []string) ([]string, error) {
	out := q.Deferred()
	for _, i := range inboxes {
		if i.Player != m.FromPlayer {
			continue
		}
		if i.Sent >= maxMessagesAMinute {
			return nil, &fault.Error{Kind: fault.TooMany, Code: "too_many_messages",
				Detail: "a player sends at most 60 messages a minute", RetryAfter: time.Minute}
		}
		query.QueueExec(out, (*query.Queries).CountSent, query.CountSentParams{Region: m.Region, Project: m.ProjectID,
			Player: i.Player, Sent: i.Sent + 1})
	}
	for _, i := range inboxes {
		switch {
		case i.Player != m.Recipient:
			continue
		// Nothing is stored, but the message counts as sent.
		case i.HasBlocked:
			return nil, nil
		}
		query.QueueExec(out, (*query.Queries).NumberMessage, query.NumberMessageParams{Region: m.Region,
			Project: m.ProjectID, Player: m.Recipient, Last: i.Last + 1})
		query.QueueExec(out, (*query.Queries).PutPlayerMessage, query.PutPlayerMessageParams{Region: m.Region,
			Project: m.ProjectID, Player: m.Recipient, Number: i.Last + 1, FromSession: m.FromSession,
			FromPlayer: m.FromPlayer,
			Type:       m.Type, Data: string(m.Data)})
	}
	if m.EventKind == "" {
		return sessions, nil
	}
	return sessions, logProject(ctx, q, m.Region, m.EventKind, m.EventActor,
		map[string]string{"project": m.ProjectID, "player": m.Recipient, "type": m.Type})
}

// PlayerMessages returns the messages to the player of a session behind a number, the oldest first; with unread only
// those that the player has not read. Errors: Unavailable.
func (s *Store) PlayerMessages(ctx context.Context, region, session string, after int64,
	unread bool) ([]PlayerMessage, error) {
	rows, err := s.q.MessagesOfSession(ctx, query.MessagesOfSessionParams{Region: region, Session: session,
		After: after, Unread: unread})
	if err != nil {
		return nil, frame.Classify(err)
	}
	messages := make([]PlayerMessage, len(rows))
	for i, r := range rows {
		messages[i] = PlayerMessage{r.Number, r.At, r.FromSession, r.FromPlayer, r.Type, json.RawMessage(r.Data)}
	}
	return messages, nil
}

// ReadPlayerMessages notes that a player has read its messages up to a number. Errors: Unavailable.
func (s *Store) ReadPlayerMessages(ctx context.Context, region, project, player string, number int64) error {
	return frame.Classify(s.q.ReadMessages(ctx,
		query.ReadMessagesParams{Region: region, Project: project, Player: player,
			Number: number}))
}

// DropUnusedInboxes deletes up to batch inboxes that nobody has used for a week, with their messages, and returns their
// number. Any number of workers may call it at the same time. Errors: Unavailable.
func (s *Store) DropUnusedInboxes(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.DropUnusedInboxes(ctx, query.DropUnusedInboxesParams{Region: region, Most: int32(batch)})
	return int(n), frame.Classify(err)
}
