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

// SendToPlayer stores a message for a player and wakes the replicas that hold the player's connections. reached is the
// number of its connected sessions. For a player who has blocked the sender, nothing is stored, and reached is 0.
// Errors: TooMany, "too_many_messages"; Invalid for data that is too long, and for text that cannot be stored;
// Unavailable.
func (s *Store) SendToPlayer(ctx context.Context, m NewPlayerMessage) (reached int, err error) {
	if len(m.Data) > maxPlayerMessage {
		return 0, &fault.Error{Kind: fault.Invalid, Code: CodeValidation, Field: "data",
			Detail: "must have at most 8 KiB"}
	}
	if !isStorable(m.ProjectID) || !isStorable(m.Recipient) || !isStorable(m.Type) {
		return 0, fault.New(fault.Invalid, CodeValidation,
			"the project, the player and the type of a message must be without U+0000")
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

// send locks the inboxes of the recipient and the sender, stores the message, and returns the sessions to wake.
func (m NewPlayerMessage) send(ctx context.Context, q *query.Queries) (sessions []string, err error) {
	players := []string{m.Recipient}
	// In the order of their names, so that two players who write to each other do not deadlock.
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
	// A worker has deleted an unused inbox between the two statements: decide again, with a new one.
	if len(inboxes) < len(players) {
		return nil, frame.ErrRolledBack
	}
	recipient := query.LockInboxesRow{}
	for _, i := range inboxes {
		if i.Player == m.FromPlayer {
			if err := m.count(q, i); err != nil {
				return nil, err
			}
		}
		// A player may write to itself.
		if i.Player == m.Recipient {
			recipient = i
		}
	}
	// Nothing is stored, but the message counts as sent.
	if recipient.HasBlocked {
		return nil, nil
	}
	return sessions, m.put(ctx, q, recipient.Last+1)
}

// count defers counting the message as sent by a player. Errors: TooMany.
func (m NewPlayerMessage) count(q *query.Queries, sender query.LockInboxesRow) error {
	if sender.Sent >= maxMessagesAMinute {
		e := fault.New(fault.TooMany, "too_many_messages", "a player sends at most %d messages a minute",
			maxMessagesAMinute)
		e.RetryAfter = time.Minute
		return e
	}
	query.QueueExec(q.Deferred(), (*query.Queries).CountSent, query.CountSentParams{Region: m.Region,
		Project: m.ProjectID, Player: sender.Player, Sent: sender.Sent + 1})
	return nil
}

// put defers the rows of the message, which gets a number among those to its recipient, and records its event.
func (m NewPlayerMessage) put(ctx context.Context, q *query.Queries, number int64) error {
	out := q.Deferred()
	query.QueueExec(out, (*query.Queries).NumberMessage, query.NumberMessageParams{Region: m.Region,
		Project: m.ProjectID, Player: m.Recipient, Last: number})
	query.QueueExec(out, (*query.Queries).PutPlayerMessage, query.PutPlayerMessageParams{Region: m.Region,
		Project: m.ProjectID, Player: m.Recipient, Number: number, FromSession: m.FromSession,
		FromPlayer: m.FromPlayer, Type: m.Type, Data: string(m.Data)})
	if m.EventKind == "" {
		return nil
	}
	return logProject(ctx, q, m.Region, m.EventKind, m.EventActor,
		map[string]string{"project": m.ProjectID, "player": m.Recipient, "type": m.Type})
}

// PlayerMessages returns the messages to the player of a session behind a number, the oldest first, read or not.
// Errors: Unavailable.
func (s *Store) PlayerMessages(ctx context.Context, region, session string, after int64) ([]PlayerMessage, error) {
	return s.messagesOfSession(ctx, query.MessagesOfSessionParams{Region: region, Session: session, After: after})
}

// UnreadPlayerMessages returns those of PlayerMessages that the player has not read. Errors: Unavailable.
func (s *Store) UnreadPlayerMessages(ctx context.Context, region, session string,
	after int64) ([]PlayerMessage, error) {
	return s.messagesOfSession(ctx, query.MessagesOfSessionParams{Region: region, Session: session, After: after,
		Unread: true})
}

func (s *Store) messagesOfSession(ctx context.Context, p query.MessagesOfSessionParams) ([]PlayerMessage, error) {
	rows, err := s.q.MessagesOfSession(ctx, p)
	if err != nil {
		return nil, frame.Classify(err)
	}
	messages := make([]PlayerMessage, len(rows))
	for i, r := range rows {
		messages[i] = PlayerMessage{r.Number, r.At, r.FromSession, r.FromPlayer, r.Type, json.RawMessage(r.Data)}
	}
	return messages, nil
}

// MarkMessagesRead stores that a player has read its messages up to a number. Errors: Unavailable.
func (s *Store) MarkMessagesRead(ctx context.Context, region, project, player string, number int64) error {
	return frame.Classify(s.q.ReadMessages(ctx,
		query.ReadMessagesParams{Region: region, Project: project, Player: player, Number: number}))
}

// DropUnusedInboxes deletes up to batch inboxes that nobody has used for a week, with their messages, and returns their
// number. Any number of workers may call it at the same time. Errors: Unavailable.
func (s *Store) DropUnusedInboxes(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.DropUnusedInboxes(ctx, query.DropUnusedInboxesParams{Region: region, Most: int32(batch)})
	return int(n), frame.Classify(err)
}
