package token

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// DeploymentPurpose is what a credential of a deployment is good for. A credential for one purpose is wrong for the
// others.
type DeploymentPurpose string

// The purposes.
const (
	ForFleet   DeploymentPurpose = "fleet"   // the game server's X-Fleet-Token
	ForContext DeploymentPurpose = "context" // GET /fleet/context, which servers of bevygap call
	ForHook    DeploymentPurpose = "hook"    // the provider's webhook, in the path
)

var deploymentPurposes = [...]DeploymentPurpose{ForFleet, ForContext, ForHook}

// deploymentPrefix begins a deployment's token, and no session token: JWTs begin with eyJ.
const deploymentPrefix = "ld1."

// MaxDeploymentToken is the length of the longest token of a deployment, in bytes.
const MaxDeploymentToken = len(deploymentPrefix) + maxRegionBytes + 1 + uuidBytes + 1 + macBytes

const (
	maxRegionBytes = 32
	uuidBytes      = 36
	macBytes       = 43 // of base64 without padding
)

// Deployment names a deployment: its region, and its UUID in the usual form, in lower case.
type Deployment struct{ Region, ID string }

// DeploymentSecret is a credential of a deployment. It is not printed; convert it to a string to use it.
type DeploymentSecret string

// Format implements fmt.Formatter with a placeholder.
func (DeploymentSecret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[hidden]") }

// LogValue implements slog.LogValuer with a placeholder.
func (DeploymentSecret) LogValue() slog.Value { return slog.StringValue("[hidden]") }

// DeploymentTokens makes and verifies the credentials of deployments: the HMAC-SHA256 of a deployment's name under a
// key that is derived (HKDF) from a key-encryption key and the purpose. So every replica verifies them without a query,
// and no table stores them. The first key-encryption key makes them, and all of them verify. Safe for concurrent use.
type DeploymentTokens struct{ keks []deploymentKeys }

// deploymentKeys are the keys that one key-encryption key gives, by purpose.
type deploymentKeys struct {
	fingerprint string // fingerprint of the key-encryption key, in hex
	macOf       map[DeploymentPurpose][]byte
}

func newDeploymentKeys(kekID string, secret []byte) (deploymentKeys, error) {
	k := deploymentKeys{fingerprint: hex.EncodeToString([]byte(kekID)),
		macOf: make(map[DeploymentPurpose][]byte, len(deploymentPurposes))}
	for _, purpose := range deploymentPurposes {
		key, err := hkdf.Key(sha256.New, secret, nil, "lattice-director deployment "+string(purpose), sha256.Size)
		if err != nil {
			return k, err
		}
		k.macOf[purpose] = key
	}
	return k, nil
}

// DeploymentTokens returns the credentials under the sealer's key-encryption keys.
func (s *Sealer) DeploymentTokens() *DeploymentTokens { return &DeploymentTokens{keks: s.deployments} }

// Token returns ld1.<region>.<id>.<mac>, the form of the purposes fleet and context.
func (t *DeploymentTokens) Token(purpose DeploymentPurpose, d Deployment) DeploymentSecret {
	return DeploymentSecret(deploymentPrefix + d.Region + "." + d.ID + "." + string(t.MAC(purpose, d)))
}

// MAC returns the secret part of a credential: 43 characters of A-Z a-z 0-9 _ -.
func (t *DeploymentTokens) MAC(purpose DeploymentPurpose, d Deployment) DeploymentSecret {
	return DeploymentSecret(base64.RawURLEncoding.EncodeToString(t.keks[0].mac(purpose, d)))
}

func (k deploymentKeys) mac(purpose DeploymentPurpose, d Deployment) []byte {
	h := hmac.New(sha256.New, k.macOf[purpose])
	_, _ = io.WriteString(h, d.Region+"."+d.ID)
	return h.Sum(nil)
}

// IsDeploymentToken reports whether a text claims to be a token of a deployment.
func IsDeploymentToken(raw string) bool { return strings.HasPrefix(raw, deploymentPrefix) }

// Verify returns the deployment that a token of this purpose names, and the fingerprint of the key-encryption key that
// made it. A token that is false, of another purpose, or made by a key-encryption key that is not configured is not ok.
func (t *DeploymentTokens) Verify(purpose DeploymentPurpose, raw string) (d Deployment, by string, ok bool) {
	rest, found := strings.CutPrefix(raw, deploymentPrefix)
	parts := strings.Split(rest, ".")
	if !found || len(raw) > MaxDeploymentToken || len(parts) != 3 {
		return Deployment{}, "", false
	}
	d = Deployment{Region: parts[0], ID: parts[1]}
	by, ok = t.VerifyMAC(purpose, d, parts[2])
	if !ok {
		return Deployment{}, "", false
	}
	return d, by, true
}

// VerifyMAC is Verify for a credential whose parts stand apart, such as those of a webhook's path. It takes the same
// time whichever key-encryption key made it.
func (t *DeploymentTokens) VerifyMAC(purpose DeploymentPurpose, d Deployment, mac string) (by string, ok bool) {
	got, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	if err != nil || !d.valid() {
		return "", false
	}
	for _, k := range t.keks {
		if subtle.ConstantTimeCompare(k.mac(purpose, d), got) == 1 && !ok {
			by, ok = k.fingerprint, true
		}
	}
	return by, ok
}

// valid reports whether region and id have their one form, so that two texts never name one deployment.
func (d Deployment) valid() bool {
	return d.Region != "" && len(d.Region) <= maxRegionBytes && len(d.ID) == uuidBytes &&
		!strings.ContainsFunc(d.Region+d.ID, func(r rune) bool {
			return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		})
}
