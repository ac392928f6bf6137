package sdk

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Backend makes the calls of one of the studio's own services, which says what it knows of players, and queues for
// them. Safe for concurrent use.
type Backend struct {
	apiClient *Client
	token     string
}

// NewBackend returns a Backend with a token of DIRECTOR_BACKEND_TOKENS, which is a secret of the service: it must not
// be part of a game.
func NewBackend(client *Client, token string) *Backend { return &Backend{client, token} }

// PlayerFacts are all that a backend says of a player; what is left out is removed.
type PlayerFacts struct {
	// Attributes are what profiles take `from: backend`, and `from: claim` where there is no claim: numbers, strings or
	// lists of strings; at most 64.
	Attributes map[string]any `json:"attributes,omitempty"`
	// Avoid lists players not to play with, at most 256.
	Avoid []string `json:"avoid,omitempty"`
	// MayPartyWith lists players whom the player may take into a party, and who may take it into theirs; at most 256.
	MayPartyWith []string `json:"may_party_with,omitempty"`
}

// StoredPlayer is what is stored of a player.
type StoredPlayer struct {
	PlayerFacts

	Sub       string    `json:"sub"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"` // "backend:" and the name of the token
}

// PutPlayers replaces what is stored of players, by sub, at most 256, in one transaction, and returns how many of
// them have changed. It may be repeated. Errors: [ErrInvalid], [ErrUnauthorized].
func (b *Backend) PutPlayers(ctx context.Context, players map[string]PlayerFacts) (changed int, err error) {
	var answer struct {
		Changed int `json:"changed"`
	}
	body := map[string]any{"players": players}
	err = b.callAPI(ctx, call{method: http.MethodPut, path: "/backend/players", body: body}, &answer)
	return answer.Changed, err
}

// Player returns what is stored of a player. Errors: [ErrNotFound], [ErrUnauthorized].
func (b *Backend) Player(ctx context.Context, sub string) (StoredPlayer, error) {
	var p StoredPlayer
	err := b.callAPI(ctx, call{method: http.MethodGet, path: playerPath(sub)}, &p)
	return p, err
}

// ForgetPlayer removes what is stored of a player. It may be repeated. Errors: [ErrUnauthorized].
func (b *Backend) ForgetPlayer(ctx context.Context, sub string) error {
	return b.callAPI(ctx, call{method: http.MethodDelete, path: playerPath(sub)}, nil)
}

func playerPath(sub string) string { return "/backend/players/" + url.PathEscape(sub) }

// Queue puts a party into the queue: Party is required, Lobby must be nil. The backend vouches for each attribute. The
// same request again returns the same ticket, which stays in the queue until the time of its profiles is over. Errors:
// [ErrInvalid], [ErrNotFound] for an unknown profile, [ErrTicketExists], [ErrPartyConflict], [ErrUnauthorized].
func (b *Backend) Queue(ctx context.Context, req TicketRequest) (QueueStatus, error) {
	var status QueueStatus
	key := http.Header{"Idempotency-Key": {rand.Text()}}
	cell, err := b.doAt(ctx, call{method: http.MethodPost, path: "/backend/tickets", header: key, body: req}, &status)
	if err == nil {
		b.apiClient.knownCells.rememberTicket(status.TicketID, cell)
	}
	return status, err
}

// Ticket returns a ticket as soon as its version is greater than the one given, or after the time to wait, of at most a
// minute. Errors: [ErrNotFound], [ErrUnauthorized].
func (b *Backend) Ticket(ctx context.Context, id string, version int, wait time.Duration) (QueueStatus, error) {
	var status QueueStatus
	path := fmt.Sprintf("/backend/tickets/%s?version=%d&wait=%s", url.PathEscape(id), version, wait)
	err := b.callAPI(ctx, call{method: http.MethodGet, path: path, ticket: id, maxWait: wait}, &status)
	return status, err
}

// Cancel takes a ticket out of the queue, and returns it. While its players are asked whether they accept a match, it
// declines for them. It may be repeated. Errors: [ErrNotFound], [ErrUnauthorized].
func (b *Backend) Cancel(ctx context.Context, id string) (QueueStatus, error) {
	var status QueueStatus
	err := b.callAPI(ctx, call{method: http.MethodDelete, path: "/backend/tickets/" + url.PathEscape(id), ticket: id},
		&status)
	return status, err
}

func (b *Backend) callAPI(ctx context.Context, k call, out any) error {
	_, err := b.doAt(ctx, k, out)
	return err
}

// doAt is callAPI that also returns the address of the cell that answered.
func (b *Backend) doAt(ctx context.Context, k call, out any) (cell string, err error) {
	return b.apiClient.doAt(ctx, k.withToken(b.token), out)
}
