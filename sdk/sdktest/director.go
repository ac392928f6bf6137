// Package sdktest is a director in memory. It lets tests of game servers and of players' programs run without a
// database and without a network.
//
// It follows the contract of api/openapi.yaml for the routes that package sdk calls, one request at a time. It has no
// limits, no replicas and no persistence, and nothing expires in it unless a test calls [Director.Expire],
// [Director.CloseSession] or [Director.Reap]. It matches no tickets unless a test calls [Director.Match].
package sdktest

import (
	"net/http"
	"sync"
	"time"

	"github.com/lattice-director/director/token"
)

// Options tune a [Director]; the zero value is usable.
type Options struct {
	// FleetToken is required with every fleet call; empty requires none.
	FleetToken string
	// Enrolment is the token of an enrolment, which is accepted beside FleetToken: a server that registers with it gets
	// a credential, which its other calls have to have. Empty: there is no enrolment.
	Enrolment string
	// Access returns the player of an access token. Nil uses the token itself as the player's name.
	Access func(accessToken string) (sub string, err error)
	// TokenTTL is the lifetime of session tokens. Default 2 minutes.
	TokenTTL time.Duration
	// MaxPlayers is the size of a session when the request gives none. Default 8.
	MaxPlayers int
}

// Director is an http.Handler that answers like a director. Safe for concurrent use.
type Director struct {
	opts Options
	ring *token.Ring
	mux  *http.ServeMux

	mu               sync.Mutex
	instances        map[string]*instance
	endedDeployments map[string]bool         // deployments that have ended, by id
	credentials      map[string]string       // ids of instances, by the secret that they got by the enrolment
	latest           map[string]*instance    // by id, the last one that registered, whether or not it still exists
	sessions         []*session              // in the order they were opened
	redeemed         map[string]redemption   // by jti
	answers          map[string]storedAnswer // by caller and Idempotency-Key
	tickets          map[string]*ticket      // by id
	changed          chan struct{}           // closed when a ticket or a session may have changed
}

type instance struct {
	registration registration
	incarnation  string
	isDraining   bool

	isDeployed, isUnwanted bool

	isRenewed bool // the answer to the next heartbeat has the credential
}

type registration struct {
	InstanceID string   `json:"instance_id"`
	Endpoint   string   `json:"endpoint"`
	Region     string   `json:"region"`
	Modes      []string `json:"modes"`
	Capacity   int      `json:"capacity"`
	BootID     string   `json:"boot_id"`
	Load       float64  `json:"load"`
	Replaces   string   `json:"replaces"`
}

type session struct {
	id, handle, instance, endpoint, region, mode string
	maxPlayers                                   int
	openedAt                                     time.Time
	seatBySub                                    map[string]*seat // by sub
	isClosed                                     bool
}

func (s *session) closeSeats() {
	s.isClosed = true
	clear(s.seatBySub)
}

// ticket waits for [Director.Match].
type ticket struct {
	id             string
	request        []byte
	party          []string
	stateDocuments []map[string]any // the documents of its versions
	proposedMatch  *proposal        // that its players are asked about
}

// proposal is a match that waits for its players.
type proposal struct {
	id            string
	region, mode  string
	tickets       []*ticket
	acceptedBySub map[string]bool
	answerUntil   time.Time
}

// storedAnswer is the answer to a request that had an Idempotency-Key.
type storedAnswer struct {
	request []byte
	answer  any
}

type seat struct {
	state       seatState
	party       []string // of the request that took the seat, sorted
	requestedBy string
	connection  string // the one that holds the seat; empty if it has no name
}

type seatState int

// redemption is the session and player that used a jti.
type redemption struct{ session, sub string }

// wakeWaiting makes waiting calls check again.
func (d *Director) wakeWaiting() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Sign returns a session token with any claims, for tests of tokens that a game server must refuse.
func (d *Director) Sign(c token.SessionClaims) (string, error) { return d.ring.Sign(time.Now(), c) }
