package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Enrolment lets game servers that register themselves get a credential each.
type Enrolment struct {
	Region     string     `db:"region" json:"region"`
	Name       string     `db:"name" json:"name"`
	ID         uuid.UUID  `db:"enrolment" json:"id"`
	State      string     `db:"state" json:"state"`     // valid, expired or revoked
	Modes      []string   `db:"modes" json:"modes"`     // empty: any
	Servers    int64      `db:"servers" json:"servers"` // that have not ended
	MaxServers int32      `db:"max_servers" json:"max_servers"`
	ExpiresAt  time.Time  `db:"expires_at" json:"expires_at"`
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	CreatedBy  string     `db:"created_by" json:"created_by"`
	RevokedAt  *time.Time `db:"revoked_at" json:"revoked_at"` // nil: it was not
}

// Enrolments are read in the order of region and name, the latest of a name first.
var Enrolments = View[Enrolment, EnrolmentFilter]{name: "enrolments",
	order: Order{"region", "name", "-created_at", "enrolment"}}

// EnrolmentFilter selects enrolments. Empty fields select all.
type EnrolmentFilter struct {
	Region, Name string
	State        string
	// Useful leaves out enrolments that are not valid and have no servers.
	Useful bool
}

func (f EnrolmentFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("name", f.Name)
	w.addEqual("state", f.State)
	if f.Useful {
		w.add("state = 'valid' OR servers > 0")
	}
}

// ServerCredential is the credential with which a game server registered.
type ServerCredential struct {
	Region     string     `db:"region" json:"region"`
	Instance   string     `db:"instance" json:"instance"`
	Status     string     `db:"status" json:"status"`         // starting, ready, draining or gone
	Credential string     `db:"credential" json:"credential"` // enrolment, deployment, agent key or fleet token
	Enrolment  *string    `db:"enrolment" json:"enrolment"`   // its name; nil: none
	EnrolledAt *time.Time `db:"enrolled_at" json:"enrolled_at"`
	ExpiresAt  *time.Time `db:"expires_at" json:"expires_at"` // renewed while the server lives
	// TokensBy is the fingerprint of the key-encryption key that made it; nil: it is none of an enrolment.
	TokensBy  *string    `db:"tokens_by" json:"tokens_by"`
	RevokedAt *time.Time `db:"revoked_at" json:"revoked_at"` // nil: it was not
}

// ServerCredentials are read in the order of region and id.
var ServerCredentials = View[ServerCredential, ServerCredentialFilter]{name: "server_credentials",
	order: Order{"region", "instance"}}

// ServerCredentialFilter selects credentials. Empty fields select all.
type ServerCredentialFilter struct {
	Region     string
	Instance   string
	Credential string
	Enrolment  string // its name
	Running    bool   // only those of game servers that have not ended
}

func (f ServerCredentialFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("instance", f.Instance)
	w.addEqual("credential", f.Credential)
	w.addEqual("enrolment", f.Enrolment)
	if f.Running {
		w.add("status <> 'gone'")
	}
}
