package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
)

// Registration is what an instance offers. Each registration replaces the one before as a whole.
type Registration struct {
	InstanceID   string
	Endpoint     string
	Region       string
	Modes        []string
	Capacity     int      // player seats
	Load         *float64 // any measure that grows with the load, best the share in use (0 to 1); nil means 0
	Labels       map[string]string
	MaxSessions  *int // nil means as many as the capacity allows
	Version      string
	BootID       string // of the process; empty means a legacy server, identified by its id alone
	CertDigest   string
	ProviderRef  string // the provider's name of the server, if it knows it; only with Joining
	ReportsSeats bool
	// CreatesRooms says that the instance is a Rivalis agent's process, whose process_uid is the id: the agent creates
	// a room for each session.
	CreatesRooms bool
	// Replaces is the incarnation that the sender wants to replace; uuid.Nil when it expects that the id was never
	// registered. The registration is refused when another incarnation is current. nil, as of legacy servers: it
	// replaces whichever is current.
	Replaces *uuid.UUID
	// Joining is set when a deployment's own server registers: its id, region, modes and capacity must lie within its
	// app version, its endpoint comes from the provider, and it gets players once it is ready. nil: somebody else
	// started the server.
	Joining *provision.Joining
	// Enrolling is set when the server registers by an enrolment, which says its region, its modes and how many there
	// may be, and gives it a credential of its own. nil: by another credential.
	Enrolling *Enrolling

	terms query.LockEnrolmentRow // of the enrolment that Enrolling names, read under its lock
}

// Registered is the answer to a registration.
type Registered struct {
	InstanceID string
	// Incarnation is sent with later calls, so that a process that was replaced while it was frozen changes nothing.
	Incarnation uuid.UUID
	Available   int       // seats of its capacity that no open session has reserved
	Deployed    *Deployed // nil without Registration.Joining
	Enrolled    *Enrolled // nil without Registration.Enrolling
}

// refusal returns why a registration is refused although it was written: its server has started too often. nil: it is
// not refused.
func (r Registered) refusal(of Registration) error {
	if r.Deployed != nil && r.Deployed.hasFailed {
		return provision.DeploymentOver(of.Joining.ID)
	}
	return nil
}

// Enrolling is who registers by an enrolment: whoever has its token, or an instance that registered by it before.
type Enrolling struct {
	Region       string
	EnrolmentID  uuid.UUID
	CredentialID uuid.UUID // of the instance; uuid.Nil: the request has the token of the enrolment
	TokensBy     string    // fingerprint of the key-encryption key that makes the credential of the answer
}

// isInstance reports whether the request has the credential of an instance.
func (e Enrolling) isInstance() bool { return e.CredentialID != uuid.Nil }

// Enrolled is the credential that an instance gets by an enrolment.
type Enrolled struct {
	EnrolmentID, CredentialID uuid.UUID
	ExpiresAt                 time.Time // by the database's clock
}

// Deployed is the part of an answer to a game server that is about its deployment.
type Deployed struct {
	IsReady  bool
	Endpoint string     // that players dial; empty until it is ready
	EndsAt   *time.Time // when its provider ends it; nil: not known
	IsEnding bool       // the server gets no more players, and should exit when its sessions have ended

	hasFailed bool // the server has started too often
}
