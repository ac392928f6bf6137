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
	// SharedSecrets are shared by all game servers; several allow rotation.
	SharedSecrets []string
	// IsOpen accepts every request without a credential of its own, unless there are SharedSecrets.
	IsOpen bool
	// ServerTokens verifies credentials that speak for one game server, of deployments and of enrolled instances. nil:
	// none is accepted.
	ServerTokens *token.ServerTokens
	// EnrolmentDigest returns the SHA-256 of the secret of an enrolment, nil if there is none. nil: no enrolment is
	// accepted.
	EnrolmentDigest func(ctx context.Context, region string, id uuid.UUID) (*[sha256.Size]byte, error)
	// CheckHere refuses a region that another cell serves. A credential that is not one of this cell is checked by the
	// region that it names, so that its server learns where that is. nil: none is refused.
	CheckHere func(region string) error
	// Now is the database's time; nil means time.Now.
	Now func() time.Time
	// FailureLimiter limits how often an address may fail; nil sets no limit.
	FailureLimiter *Limiter
}

// ServerCaller is whose credential came with the request of a game server, unless it is one that all share.
type ServerCaller struct {
	// InstanceID is the only instance for which the request speaks; "": the token is an enrolment's.
	InstanceID string
	Deployment *DeploymentCaller // nil: the credential is not that of a deployment
	Enrolled   *EnrolledCaller   // nil: the credential belongs to no enrolment
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

// ServerOf returns whose credential came with the request of a game server, nil if all share it.
func ServerOf(ctx context.Context) *ServerCaller {
	if s, ok := scopeIn(ctx); ok {
		return s.serverCaller
	}
	return nil
}

// DeploymentOf returns the deployment for which a request speaks, nil if it speaks for none.
func DeploymentOf(ctx context.Context) *DeploymentCaller {
	if s := ServerOf(ctx); s != nil {
		return s.Deployment
	}
	return nil
}

// Handler accepts requests that carry one of the credentials. Handlers read with [ServerOf] for whom a request speaks.
func (f FleetTokens) Handler() gin.HandlerFunc {
	hashes := make([][sha256.Size]byte, len(f.SharedSecrets))
	for i, secret := range f.SharedSecrets {
		hashes[i] = sha256.Sum256([]byte(secret))
	}
	isOpen := f.IsOpen && len(f.SharedSecrets) == 0
	f = f.withDefaults()
	return func(c *gin.Context) {
		got := c.GetHeader(headerFleetToken)
		if err := f.CheckHere(token.NamedRegion(got)); err != nil {
			Fail(c, err)
			return
		}
		switch {
		case f.ServerTokens != nil && token.IsDeploymentToken(got):
			if isAccepted := acceptDeployment(c, f.ServerTokens, token.ForFleet, got); !isAccepted {
				f.refuseFleetToken(c, "wrong")
			}
		case f.ServerTokens != nil && token.IsInstanceToken(got):
			f.acceptInstance(c, got)
		case f.EnrolmentDigest != nil && token.IsEnrolmentToken(got):
			f.acceptEnrolment(c, got)
		// An open fleet compares no secret, so that a wrong one passes as well.
		case !isOpen:
			f.requireShared(c, hashes, got)
		}
	}
}

// requireShared refuses a request that does not carry one of the secrets that game servers share.
func (f FleetTokens) requireShared(c *gin.Context, hashes [][sha256.Size]byte, got string) {
	if got == "" { // an empty secret in the configuration must not match it
		f.refuseFleetToken(c, "missing")
		return
	}
	if indexOf(hashes, got) < 0 {
		f.refuseFleetToken(c, "wrong")
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

func (f FleetTokens) refuseFleetToken(c *gin.Context, why string) {
	refuseCredential(c, f.FailureLimiter, fleetChallenge, "The X-Fleet-Token header is "+why+".")
}

// acceptInstance accepts the credential of an instance. An expired one does not count as a failed authentication: after
// an outage, many servers behind one address may send theirs.
func (f FleetTokens) acceptInstance(c *gin.Context, got string) {
	i, by, ok := f.ServerTokens.VerifyInstance(got)
	enrolment, err := uuid.Parse(i.Enrolment)
	credential, errCredential := uuid.Parse(i.Credential)
	switch {
	case !ok || err != nil || errCredential != nil:
		f.refuseFleetToken(c, "wrong")
	case !f.Now().Before(i.ExpiresAt):
		c.Header("WWW-Authenticate", fleetChallenge)
		Fail(c, unauthorizedProblem(
			"The credential of this game server has expired: register with the token of an enrolment."))
	default:
		scopeOf(c).serverCaller = &ServerCaller{InstanceID: i.ID, Enrolled: &EnrolledCaller{Region: i.Region,
			Enrolment: enrolment, Credential: credential, TokenBy: by, ExpiresAt: i.ExpiresAt}}
	}
}

const maxEnrolmentToken = 256

// acceptEnrolment accepts the token of an enrolment. Whether it has ended is decided when the game server registers.
func (f FleetTokens) acceptEnrolment(c *gin.Context, got string) {
	parts := strings.Split(got, ".") // le1, the region, the id, the secret
	if len(got) > maxEnrolmentToken || len(parts) != 4 || !Region.Valid(parts[1]) {
		f.refuseFleetToken(c, "wrong")
		return
	}
	id, err := uuid.Parse(parts[2])
	if err != nil {
		f.refuseFleetToken(c, "wrong")
		return
	}
	// The database is asked last: a text without the form of a token must not cost a query.
	digest, err := f.EnrolmentDigest(c.Request.Context(), parts[1], id)
	if err != nil {
		Fail(c, err)
		return
	}
	hash := sha256.Sum256([]byte(parts[3]))
	if digest == nil || subtle.ConstantTimeCompare(digest[:], hash[:]) != 1 {
		f.refuseFleetToken(c, "wrong")
		return
	}
	scopeOf(c).serverCaller = &ServerCaller{Enrolled: &EnrolledCaller{Region: parts[1], Enrolment: id}}
}

// RefuseEnrolments refuses the token of an enrolment, on routes of game servers that have registered.
func RefuseEnrolments(c *gin.Context) {
	if s := ServerOf(c.Request.Context()); s != nil && s.InstanceID == "" {
		Fail(c, &Problem{Status: http.StatusForbidden, Code: "scope_missing", Title: "Forbidden",
			Detail: "The token of an enrolment only registers game servers: " +
				"send the credential that the registration returned."})
	}
}

// DeploymentToken accepts requests that carry a deployment's token of this purpose as Authorization, without a scheme,
// as servers that were built for Edgegap send it.
func DeploymentToken(tokens *token.ServerTokens, purpose token.ServerPurpose,
	failures *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if isAccepted := acceptDeployment(c, tokens, purpose, c.GetHeader("Authorization")); !isAccepted {
			refuseCredential(c, failures, fleetChallenge, "The Authorization header is missing or wrong.")
		}
	}
}

// acceptDeployment verifies a token of a deployment, whose name it keeps for the handlers, and reports whether it is
// valid.
func acceptDeployment(c *gin.Context, tokens *token.ServerTokens, purpose token.ServerPurpose, raw string) bool {
	d, by, ok := tokens.Verify(purpose, raw)
	if !ok {
		return false
	}
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return false
	}
	scopeOf(c).serverCaller = &ServerCaller{InstanceID: d.ID,
		Deployment: &DeploymentCaller{Region: d.Region, ID: id, TokenBy: by}}
	return true
}
