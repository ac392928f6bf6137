package rest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/token"
)

const (
	headerFleetToken = "X-Fleet-Token"
	fleetChallenge   = `FleetToken realm="director"`
)

// FleetTokens are what authenticates game servers, by X-Fleet-Token.
type FleetTokens struct {
	// Secrets are shared by all game servers; several allow rotation.
	Secrets []string
	// IsOpen accepts every request without a credential of its own, unless there are Secrets.
	IsOpen bool
	// Servers verifies credentials that speak for one game server, of deployments and of enrolled instances. nil: none is
	// accepted.
	Servers *token.ServerTokens
	// Enrolment returns the SHA-256 of the secret of an enrolment, nil if there is none. nil: no enrolment is accepted.
	Enrolment func(ctx context.Context, region string, id uuid.UUID) (*[sha256.Size]byte, error)
	// CheckHere refuses a region that another cell serves. A credential that is not one of this cell is checked by the
	// region that it names, so that its server learns where that is. nil: none is refused.
	CheckHere func(region string) error
	// Now is the database's time; nil means time.Now.
	Now func() time.Time
	// Failures limits how often an address may fail; nil sets no limit.
	Failures *Limiter
}

// ServerCaller is whose credential came with the request of a game server, unless it is one that all share.
type ServerCaller struct {
	// InstanceID is the only instance for which the request speaks; "": the token is an enrolment's.
	InstanceID string
	Deployment *DeploymentCaller // nil: it is no deployment's
	Enrolled   *EnrolledCaller   // nil: it is of no enrolment
}

// DeploymentCaller names the deployment whose token came with a request.
type DeploymentCaller struct {
	Region  string
	ID      uuid.UUID
	TokenBy string // fingerprint of the key-encryption key that verified the token
}

// EnrolledCaller names the enrolment whose token came with a request, or by which the instance got its credential.
type EnrolledCaller struct {
	Region     string
	Enrolment  uuid.UUID
	Credential uuid.UUID // of the instance; uuid.Nil with the token of the enrolment
	TokenBy    string    // fingerprint of the key-encryption key that verified the credential
	ExpiresAt  time.Time // of the credential
}

// Server returns whose credential came with the request of a game server, nil if all share it.
func Server(ctx context.Context) *ServerCaller {
	if s, ok := scopeIn(ctx); ok {
		return s.server
	}
	return nil
}

// Deployment returns the deployment for which a request speaks, nil if it speaks for none.
func Deployment(ctx context.Context) *DeploymentCaller {
	if s := Server(ctx); s != nil {
		return s.Deployment
	}
	return nil
}

// Handler accepts requests that carry one of the credentials. Handlers read with [Server] for whom a request speaks.
func (f FleetTokens) Handler() gin.HandlerFunc {
	hashes := make([][sha256.Size]byte, len(f.Secrets))
	for i, secret := range f.Secrets {
		hashes[i] = sha256.Sum256([]byte(secret))
	}
	open := f.IsOpen && len(f.Secrets) == 0
	f = f.withDefaults()
	return func(c *gin.Context) {
		got := c.GetHeader(headerFleetToken)
		if err := f.CheckHere(token.NamedRegion(got)); err != nil {
			Fail(c, err)
			return
		}
		switch {
		case f.Servers != nil && token.IsDeploymentToken(got):
			if !joins(c, f.Servers, token.ForFleet, got) {
				f.refuse(c, "wrong")
			}
		case f.Servers != nil && token.IsInstanceToken(got):
			f.acceptInstance(c, got)
		case f.Enrolment != nil && token.IsEnrolmentToken(got):
			f.acceptEnrolment(c, got)
		case open:
		case got == "": // An empty secret in the configuration must not match it.
			f.refuse(c, "missing")
		case indexOf(hashes, got) < 0:
			f.refuse(c, "wrong")
		}
	}
}

func (f FleetTokens) withDefaults() FleetTokens {
	if f.Now == nil {
		f.Now = time.Now
	}
	if f.CheckHere == nil {
		f.CheckHere = func(string) error { return nil }
	}
	return f
}

func (f FleetTokens) refuse(c *gin.Context, why string) {
	refuse(c, f.Failures, fleetChallenge, "The X-Fleet-Token header is "+why+".")
}

// acceptInstance accepts the credential of an instance. One that has expired is no failed guess, and not counted as one:
// after an outage, many servers behind one address may come with theirs.
func (f FleetTokens) acceptInstance(c *gin.Context, got string) {
	i, by, ok := f.Servers.VerifyInstance(got)
	enrolment, err := uuid.Parse(i.Enrolment)
	credential, errCredential := uuid.Parse(i.Credential)
	switch {
	case !ok || err != nil || errCredential != nil:
		f.refuse(c, "wrong")
	case !f.Now().Before(i.ExpiresAt):
		c.Header("WWW-Authenticate", fleetChallenge)
		Fail(c, unauthorized("The credential of this game server has expired: register with the token of an enrolment."))
	default:
		scopeOf(c).server = &ServerCaller{InstanceID: i.ID, Enrolled: &EnrolledCaller{Region: i.Region,
			Enrolment: enrolment, Credential: credential, TokenBy: by, ExpiresAt: i.ExpiresAt}}
	}
}

const maxEnrolmentToken = 256

// acceptEnrolment accepts the token of an enrolment. Whether it has ended is decided when the game server registers.
func (f FleetTokens) acceptEnrolment(c *gin.Context, got string) {
	parts := strings.Split(got, ".") // le1, the region, the id, the secret
	if len(got) > maxEnrolmentToken || len(parts) != 4 || !Region.Valid(parts[1]) {
		f.refuse(c, "wrong")
		return
	}
	id, err := uuid.Parse(parts[2])
	if err != nil {
		f.refuse(c, "wrong")
		return
	}
	digest, err := f.Enrolment(c.Request.Context(), parts[1], id)
	if err != nil {
		Fail(c, err)
		return
	}
	hash := sha256.Sum256([]byte(parts[3]))
	if digest == nil || subtle.ConstantTimeCompare(digest[:], hash[:]) != 1 {
		f.refuse(c, "wrong")
		return
	}
	scopeOf(c).server = &ServerCaller{Enrolled: &EnrolledCaller{Region: parts[1], Enrolment: id}}
}

// RefuseEnrolments refuses the token of an enrolment, on routes of game servers that have registered.
func RefuseEnrolments(c *gin.Context) {
	if s := Server(c.Request.Context()); s != nil && s.InstanceID == "" {
		Fail(c, &Problem{Status: http.StatusForbidden, Code: "scope_missing", Title: "Forbidden",
			Detail: "The token of an enrolment only registers game servers: send the credential that the registration returned."})
	}
}

// DeploymentToken accepts requests that carry a deployment's token of this purpose as Authorization, without a scheme,
// as servers that were built for Edgegap send it.
func DeploymentToken(tokens *token.ServerTokens, purpose token.ServerPurpose,
	failures *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !joins(c, tokens, purpose, c.GetHeader("Authorization")) {
			refuse(c, failures, fleetChallenge, "The Authorization header is missing or wrong.")
		}
	}
}

// joins verifies a token of a deployment, and keeps its name for the handlers.
func joins(c *gin.Context, tokens *token.ServerTokens, purpose token.ServerPurpose, raw string) bool {
	d, by, ok := tokens.Verify(purpose, raw)
	if !ok {
		return false
	}
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return false
	}
	scopeOf(c).server = &ServerCaller{InstanceID: d.ID,
		Deployment: &DeploymentCaller{Region: d.Region, ID: id, TokenBy: by}}
	return true
}
