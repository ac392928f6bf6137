package sdk

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// TicketRequest asks for a match. What the names of profiles and attributes mean, the operator's profiles say.
type TicketRequest struct {
	// Profiles are the profiles to queue for, at most 8; the first match wins. Empty: all that take tickets which name
	// none.
	Profiles []string `json:"profiles,omitempty"`
	// Party lists the players that must play together, including the caller: at most 64. Empty: the caller alone.
	Party []string `json:"party,omitempty"`
	// Attributes are what rules compare, of every player: numbers, strings or lists of strings; at most 64.
	Attributes map[string]any `json:"attributes,omitempty"`
	// Players replaces attributes for single members of the party.
	Players map[string]TicketPlayer `json:"players,omitempty"`
	// Latencies are measured latencies in milliseconds, 0 to 10,000, by region.
	Latencies map[string]int `json:"latencies,omitempty"`
	// Lobby is a room of the realtime lobby that the caller owns, a party or a lobby: its members are the party. Nil:
	// Party says who they are.
	Lobby *TicketLobby `json:"lobby,omitempty"`
}

// TicketLobby names a room of the realtime lobby.
type TicketLobby struct {
	Project string `json:"project"`
	Room    string `json:"room"`
}

// TicketPlayer is what a [TicketRequest] says of one player.
type TicketPlayer struct {
	Attributes map[string]any `json:"attributes,omitempty"`
}

// QueueState is a state of a queued ticket. A client should treat one that it does not know as QueueQueued.
type QueueState string

// The states of queued tickets. The last four are final.
const (
	QueueQueued           QueueState = "queued"
	QueuePaused           QueueState = "paused"
	QueueMatched          QueueState = "matched"
	QueueAccepting        QueueState = "accepting" // call Accept or Decline with the MatchID, until Accept.Until
	QueueWaitingForServer QueueState = "waiting_for_server"
	QueueAssigned         QueueState = "assigned" // call Resolve with the Handle
	QueueDeclined         QueueState = "declined"
	QueueCancelled        QueueState = "cancelled"
	QueueExpired          QueueState = "expired"
)

// Final reports whether the ticket has left the queue.
func (s QueueState) Final() bool {
	return s == QueueAssigned || s == QueueDeclined || s == QueueCancelled || s == QueueExpired
}

// QueueStatus is a ticket as one of its players sees it. Which fields are set depends on the state.
type QueueStatus struct {
	TicketID string     `json:"ticket_id"`
	State    QueueState `json:"state"`
	Version  int        `json:"version"` // counts the states
	Profiles []string   `json:"profiles"`
	Party    []string   `json:"party"`

	Place    int            `json:"place"`    // in the queue of the first profile, from 1; 0: not known
	Estimate *QueueEstimate `json:"estimate"` // nil: not known
	Step     *QueueStep     `json:"step"`     // nil: no rule widens

	// NextTicketID is, in QueueAssigned, the ticket with which the player waits since the game server was evacuated.
	NextTicketID string `json:"next_ticket_id"`

	MatchID string      `json:"match_id"`
	Accept  *ReadyCheck `json:"accept"` // in QueueAccepting

	Handle   string `json:"session_handle"` // in QueueAssigned; a secret of the session's players
	Endpoint string `json:"endpoint"`
	Region   string `json:"region"`
	Team     string `json:"team"` // of the caller
	// Teams are those of all players, by sub; only for a [Backend].
	Teams map[string]string `json:"teams"`

	Reason string `json:"reason"` // of a final state
	Detail string `json:"detail"` // the reason in words, for people
}

// QueueEstimate is how long a ticket like this one waits in all if it is queued now. Half of the waits end before P50,
// and nine of ten before P90: show both, such as "one to four minutes".
type QueueEstimate struct {
	P50     float64 `json:"p50"` // seconds, as P90
	P90     float64 `json:"p90"`
	Samples int     `json:"samples"` // the matched tickets that it is made from
}

// QueueStep is how far the first rule that widens with time has widened.
type QueueStep struct {
	Rule      string    `json:"rule"`
	Within    *float64  `json:"within"`
	LatencyMS *int      `json:"latency_ms"`
	Ended     bool      `json:"ended"`
	NextAt    time.Time `json:"next_at"` // zero after the last step
}

// ReadyCheck is a match that waits for its players.
type ReadyCheck struct {
	Until    time.Time `json:"until"`
	Players  int       `json:"players"`
	Accepted int       `json:"accepted"`
	You      bool      `json:"you"` // the caller has accepted
	// A player of the ticket has declined or cancelled: the ticket leaves the queue in a moment.
	Declined bool `json:"declined"`
}

// Queued is a ticket in the queue. Make it with [Player.Queue] or [Player.Queued]. The ticket stays in the queue while
// one of its players calls Next or Watch; 30 seconds after the last of these calls it expires. Next and Watch are for
// one goroutine, the other methods are safe for concurrent use.
type Queued struct {
	player     *Player
	ticketID   string
	lastStatus QueueStatus // the zero value before the first
}

// Queue puts the caller, or a party, into the queue. The same request again, by any member of the party, returns the
// same ticket. All attempts of one call carry the same Idempotency-Key. Errors: [ErrInvalid], [ErrNotFound] for an
// unknown profile, [ErrTicketExists], [ErrPartyConflict], [ErrUnauthorized].
func (p *Player) Queue(ctx context.Context, req TicketRequest) (*Queued, error) {
	var status QueueStatus
	key := http.Header{"Idempotency-Key": {rand.Text()}}
	cell, err := p.doAt(ctx, call{method: http.MethodPost, path: "/tickets", header: key, body: req}, &status)
	if err != nil {
		return nil, err
	}
	p.apiClient.knownCells.rememberTicket(status.TicketID, cell)
	return &Queued{player: p, ticketID: status.TicketID, lastStatus: status}, nil
}

// Queued returns the ticket with an id, for a member of the party that did not create it, or a program that was started
// again. A ticket of another cell is known to the Client that created it; elsewhere, Queue returns it for the same
// request.
func (p *Player) Queued(id string) *Queued { return &Queued{player: p, ticketID: id} }

// ID returns the ticket's id, which the members of a party tell each other.
func (q *Queued) ID() string { return q.ticketID }

// Status returns the last status that Queue, Next or Watch received.
func (q *Queued) Status() QueueStatus { return q.lastStatus }

// pollWait is how long the director waits for a change before it answers.
const pollWait = 25 * time.Second

// Next blocks until the ticket enters another state than the last one that was received, and returns it. Without a last
// one it returns the current state. After a final state it returns that again. Errors: [ErrNotFound], [ErrGone] some
// minutes after the ticket left, [ErrUnauthorized].
func (q *Queued) Next(ctx context.Context) (QueueStatus, error) {
	known, pause := q.lastStatus, newPacer(q.player.apiClient.clientOptions)
	for !known.State.Final() {
		asked := time.Now()
		query := url.Values{"wait": {pollWait.String()}, "version": {strconv.Itoa(known.Version)}}
		var status QueueStatus
		if err := q.player.callAPI(ctx, call{method: http.MethodGet, path: q.ticketPath("") + "?" + query.Encode(),
			ticket: q.ticketID, maxWait: pollWait}, &status); err != nil {
			return QueueStatus{}, err
		}
		q.lastStatus = status
		if status.Version != known.Version || status.State != known.State {
			break
		}
		if time.Since(asked) >= pollWait/2 {
			pause.Reset()
		} else if err := sleepPause(ctx, pause); err != nil { // a replica that stops answers early
			return QueueStatus{}, err
		}
	}
	return q.lastStatus, nil
}

// Cancel takes the ticket out of the queue for the whole party. A ticket that it returns as cancelled is in no match
// and never will be. While players are asked whether they accept a match, Cancel declines for the caller. Errors:
// [ErrAssigned] and [ErrMatched] when the ticket can no longer be cancelled, [ErrNotFound], [ErrGone].
func (q *Queued) Cancel(ctx context.Context) (QueueStatus, error) {
	return q.changeStatus(ctx, call{method: http.MethodDelete, path: q.ticketPath("")})
}

// Accept accepts a match for the caller. matchID is the MatchID of the status in which the player was asked: the ticket
// may be in another match when the player answers, which is ErrTooLate. Errors: [ErrTooLate], [ErrInvalid] for a
// matchID that is none, [ErrNotFound], [ErrGone].
func (q *Queued) Accept(ctx context.Context, matchID string) (QueueStatus, error) {
	return q.answerMatch(ctx, "/accept", matchID)
}

// Decline declines a match; the caller's party leaves the queue. matchID and errors are as those of Accept.
func (q *Queued) Decline(ctx context.Context, matchID string) (QueueStatus, error) {
	return q.answerMatch(ctx, "/decline", matchID)
}

func (q *Queued) answerMatch(ctx context.Context, path, matchID string) (QueueStatus, error) {
	if uuid.Validate(matchID) != nil {
		return QueueStatus{}, fmt.Errorf("sdk: %q is not the MatchID of a status: %w", matchID, ErrInvalid)
	}
	return q.changeStatus(ctx, call{method: http.MethodPost, path: q.ticketPath(path), body: readyAnswer{matchID}})
}

// readyAnswer names the match that the player was asked about.
type readyAnswer struct {
	MatchID string `json:"match_id"`
}

func (q *Queued) changeStatus(ctx context.Context, k call) (QueueStatus, error) {
	var status QueueStatus
	k.ticket = q.ticketID
	err := q.player.callAPI(ctx, k, &status)
	return status, err
}

func (q *Queued) ticketPath(suffix string) string {
	return fmt.Sprintf("/tickets/%s%s", url.PathEscape(q.ticketID), suffix)
}
