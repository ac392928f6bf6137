package realtime

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Options configure a [Server]. MasterSecret is required, unless KeySecretsOnly is set or AuthMode is AuthDisabled;
// every other zero value is usable.
type Options struct {
	Addr           string // where to listen; "" means 127.0.0.1:4000. Listener, if set, is used instead.
	Listener       net.Listener
	TLS            *tls.Config // nil: plain text
	TrustedProxies []string    // proxies whose X-Forwarded-For is trusted: addresses or CIDRs
	// FailureRate is how many refused tokens an address may send; zero means rest.DefaultFailureRate, below zero no
	// limit.
	FailureRate rest.Rate

	// Region is where sessions of clients without a project are; "" means global. Sessions of a project are in the
	// project's region.
	Region   string
	AuthMode Mode // "" means AuthRequired
	// MasterSecret is the secret that the secrets of projects are derived from; ProjectSecrets, by project, replace
	// derived ones.
	MasterSecret   string
	ProjectSecrets map[string]string
	RequireKey     bool          // refuse tokens that name no key
	KeySecretsOnly bool          // accept only tokens that are signed with the secret of their key
	Sealer         *token.Sealer // opens the secrets of keys; nil: they sign nothing
	SessionTTL     time.Duration // for which a suspended session can be resumed; 0 means 30 s
	TicketTTL      time.Duration // after which a ticket that is not matched expires; 0: when its session ends
	ResumeByKey    bool          // any token of the same key resumes a session

	// Universe is the region in whose queue sessions wait for matches; "" means global. The store must be made with
	// [Queueing] of the same one.
	Universe string
	Signer   Signer // of session tokens; nil: match.resolve is refused

	// TextHook is a URL at which what players say is checked; "": nothing is. With TextHookFailOpen, what could not be
	// checked is said all the same. See package texts.
	TextHook         string
	TextHookFailOpen bool

	RoomTypes      *lobby.Types // nil: the built-in types
	Conformance    bool         // echo and position.update reach members on the same replica
	AllowedOrigins []string     // pages that may connect; none: any may, because nothing here depends on cookies
	MaxConnections int          // 0 means 20,000

	// OnRefusal is called with each message of a named player that had no effect. It must not wait. nil: no call.
	OnRefusal func(fault.Refusal)
	Log       *slog.Logger          // nil: no log
	Metrics   prometheus.Registerer // nil: none

	timing timing
}

// timing is how long things may take. Tests shorten it.
type timing struct {
	handshakeTimeout time.Duration // until the first frame
	pushDelay        time.Duration // before the first push: the SDK loses frames that arrive right behind handshake.ok
	callTimeout      time.Duration // of an action, and of a handshake's call of the store
	writeTimeout     time.Duration // of a frame
	closeTimeout     time.Duration // until the outbox is written and the client has closed its side
	pingEvery        time.Duration // between pings
	pongWithin       time.Duration // until the answer
	// between two looks at sessions without a connection; longer than callTimeout, which bounds a handshake's call
	lookEvery     time.Duration
	presenceEvery time.Duration // between two looks at watched players
}

func (o Options) withDefaults() (Options, error) {
	d := Defaults()
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:4000")
	o.Region = cmp.Or(o.Region, d.Region)
	o.Universe = cmp.Or(o.Universe, "global")
	o.AuthMode = cmp.Or(o.AuthMode, d.AuthMode)
	o.SessionTTL = cmp.Or(o.SessionTTL, d.SessionTTL)
	o.MaxConnections = cmp.Or(o.MaxConnections, d.MaxConnections)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnRefusal == nil {
		o.OnRefusal = func(fault.Refusal) {}
	}
	o.timing = o.timing.withDefaults()
	if o.AuthMode != AuthRequired && o.AuthMode != AuthOptional && o.AuthMode != AuthDisabled {
		return o, fmt.Errorf("realtime: %q is not one of required, optional and disabled", o.AuthMode)
	}
	if o.AuthMode != AuthDisabled && !o.KeySecretsOnly && len(o.MasterSecret) < minSecret {
		return o, fmt.Errorf("realtime: the master secret has fewer than %d bytes", minSecret)
	}
	if o.RoomTypes != nil {
		return o, nil
	}
	var err error
	o.RoomTypes, err = lobby.NewTypes(o.Conformance, nil)
	return o, err
}

func (t timing) withDefaults() timing {
	return timing{
		handshakeTimeout: cmp.Or(t.handshakeTimeout, 10*time.Second),
		pushDelay:        cmp.Or(t.pushDelay, 30*time.Millisecond),
		callTimeout:      cmp.Or(t.callTimeout, 10*time.Second),
		writeTimeout:     cmp.Or(t.writeTimeout, 10*time.Second), closeTimeout: cmp.Or(t.closeTimeout, 5*time.Second),
		pingEvery: cmp.Or(t.pingEvery, 20*time.Second), pongWithin: cmp.Or(t.pongWithin, 10*time.Second),
		lookEvery: cmp.Or(t.lookEvery, 15*time.Second), presenceEvery: cmp.Or(t.presenceEvery, defaultPresenceEvery),
	}
}

// silenceLimit is after how long a connection whose client is not heard is closed.
func (t timing) silenceLimit() time.Duration { return t.pingEvery + t.pongWithin }

// Signer signs session tokens; keyring.Keeper implements it.
type Signer interface {
	Sign(c token.SessionClaims) (string, error)
}

// Mode says which clients need a token.
type Mode string

// The modes.
const (
	AuthRequired Mode = "required" // every client needs a token
	AuthOptional Mode = "optional" // a client may be anonymous, but a token that it presents must be valid
	AuthDisabled Mode = "disabled" // tokens are not read: every client is anonymous
)

// Defaults returns the defaults of the options that operators set. [New] uses them for fields that are zero, except
// RequireKey.
func Defaults() Options {
	return Options{Region: "global", AuthMode: AuthRequired, RequireKey: true,
		SessionTTL: 30 * time.Second, MaxConnections: 20_000}
}

const minSecret = 16 // bytes: of a shorter master secret, the secrets of projects could be guessed
