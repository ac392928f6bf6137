package token

import "strings"

// deploymentPrefix begins a deployment's token, and no session token: JWTs begin with eyJ.
const deploymentPrefix = "ld1."

// MaxDeploymentToken is the length of the longest token of a deployment, in bytes.
const MaxDeploymentToken = len(deploymentPrefix) + maxRegionBytes + 1 + uuidBytes + 1 + macBytes

// Deployment names a deployment: its region, and its UUID in the usual form, in lower case.
type Deployment struct{ Region, ID string }

// dottedText returns the text of which the MAC of a deployment's credential is made, without the prefix.
func (d Deployment) dottedText() string { return d.Region + "." + d.ID }

// Token returns ld1.<region>.<id>.<mac>, the form of the purposes fleet and context.
func (t *ServerTokens) Token(purpose ServerPurpose, d Deployment) ServerSecret {
	return ServerSecret(deploymentPrefix + d.dottedText() + "." + string(t.MAC(purpose, d)))
}

// MAC returns the secret part of a credential: 43 characters of A-Z a-z 0-9 _ -.
func (t *ServerTokens) MAC(purpose ServerPurpose, d Deployment) ServerSecret {
	return ServerSecret(t.signText(purpose, d.dottedText()))
}

// IsDeploymentToken reports whether a text claims to be a token of a deployment.
func IsDeploymentToken(raw string) bool { return strings.HasPrefix(raw, deploymentPrefix) }

// Verify returns the deployment that a token of this purpose names, and the fingerprint of the key-encryption key that
// made it. A token that is false, of another purpose, or made by a key-encryption key that is not configured is not ok.
func (t *ServerTokens) Verify(purpose ServerPurpose, raw string) (d Deployment, by string, ok bool) {
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
func (t *ServerTokens) VerifyMAC(purpose ServerPurpose, d Deployment, mac string) (by string, ok bool) {
	if !d.isValid() {
		return "", false
	}
	return t.verifyMAC(purpose, d.dottedText(), mac)
}

// isValid reports whether region and id have their one form, so that two texts never name one deployment.
func (d Deployment) isValid() bool {
	return d.Region != "" && len(d.Region) <= maxRegionBytes && len(d.ID) == uuidBytes &&
		!strings.ContainsFunc(d.Region+d.ID, func(r rune) bool {
			return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		})
}
