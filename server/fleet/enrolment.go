package fleet

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// credential is what an instance gets, and sends as X-Fleet-Token from then on.
type credential struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// enrolledCaller returns the enrolment by which a request registers, or by which its instance registered; nil: none.
func enrolledCaller(ctx context.Context) *rest.EnrolledCaller {
	if s := rest.ServerOf(ctx); s != nil {
		return s.Enrolled
	}
	return nil
}

// enrollingOf returns the enrolment of a registration, nil if another credential came with it.
func (f face) enrollingOf(ctx context.Context) *db.Enrolling {
	e := enrolledCaller(ctx)
	// Only an instance that registers by an enrolment is given a credential of its own.
	if e == nil {
		return nil
	}
	return &db.Enrolling{Region: e.Region, EnrolmentID: e.Enrolment, CredentialID: e.Credential,
		TokensBy: f.serverTokens.MadeBy()}
}

// makeCredential makes the credential of an instance that has registered, or whose credential was renewed.
func (f face) makeCredential(region, instanceID string, e db.Enrolled) *credential {
	expiresAt := e.ExpiresAt.UTC().Truncate(time.Second) // as the token has it: never later than the row
	return &credential{string(f.serverTokens.InstanceToken(token.Instance{Region: region,
		Enrolment:  e.EnrolmentID.String(),
		Credential: e.CredentialID.String(), ID: instanceID, ExpiresAt: expiresAt})), expiresAt}
}

// renewCredential returns a new credential for an instance whose heartbeat was accepted, once half of the life of its
// present one is over, or when the key-encryption key was replaced. It returns nil if none is due, or none could be
// stored: the next heartbeat gets it.
func (f face) renewCredential(ctx context.Context, instanceID string) *credential {
	e := enrolledCaller(ctx)
	// It is renewed after half of its life, so that an outage of half of its life costs no game server its credential.
	if e == nil || e.TokenBy == f.serverTokens.MadeBy() && e.ExpiresAt.Sub(f.store.Now()) > db.CredentialLife/2 {
		return nil
	}
	expiresAt, ok, err := f.store.RenewCredential(ctx, e.Region, instanceID, e.Credential, f.serverTokens.MadeBy())
	// The heartbeat itself was accepted, and must not fail for this.
	if err != nil || !ok {
		return nil
	}
	return f.makeCredential(e.Region, instanceID,
		db.Enrolled{EnrolmentID: e.Enrolment, CredentialID: e.Credential, ExpiresAt: expiresAt})
}
