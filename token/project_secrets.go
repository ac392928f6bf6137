package token

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
)

// PurposeProject is the purpose of the secrets of projects' keys: SealSecret and OpenSecret take it with the id of the
// project, in place of a region, and that of the key.
const PurposeProject = "project key"

// ProjectSecrets knows the secrets that sign the tokens of projects. A project has one, which is configured or
// derived from the master secret, and each of its keys has one of its own, which is sealed in the database. Safe for
// concurrent use.
type ProjectSecrets struct {
	Master   string            // required unless KeysOnly
	Projects map[string]string // the secret of a project by its id, instead of the derived one
	Sealer   *Sealer           // required: it opens the secrets of keys
	KeysOnly bool              // only the secrets of keys sign and verify
}

// Signing returns the secret that signs tokens of a key: that of its project, which clients and servers built for Nexis
// know, or with KeysOnly that of the key. Errors: ErrSealed.
func (s ProjectSecrets) Signing(project, key string, sealed []byte) (string, error) {
	if s.KeysOnly {
		return s.openSecret(project, key, sealed)
	}
	return s.secretOf(project), nil
}

// Verifying returns the secrets that may have signed a token of a key. sealed is the key's secret; nil: the token names
// no key that exists. A secret that does not open is left out, unless no other one remains. Errors: ErrSealed.
func (s ProjectSecrets) Verifying(project, key string, sealed []byte) (secrets []string, err error) {
	if !s.KeysOnly {
		secrets = append(secrets, s.secretOf(project))
	}
	if sealed != nil {
		var own string
		if own, err = s.openSecret(project, key, sealed); err == nil {
			secrets = append(secrets, own)
		}
	}
	if len(secrets) > 0 {
		return secrets, nil
	}
	return nil, err
}

// NewProjectSecret returns a secret of 256 random bits for a key: the text that signs, and its sealed form. sealedBy is
// the fingerprint of the key-encryption key.
func (s *Sealer) NewProjectSecret(project, key string) (secret string, sealed []byte, sealedBy string) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails, by its contract
	secret = base64.RawURLEncoding.EncodeToString(random)
	sealed, sealedBy = s.SealSecret(PurposeProject, project, key, []byte(secret))
	return secret, sealed, sealedBy
}

// secretOf returns the secret of a project: the configured one, or the derived one.
func (s ProjectSecrets) secretOf(project string) string {
	if secret, ok := s.Projects[project]; ok {
		return secret
	}
	return ProjectSecret(s.Master, project)
}

func (s ProjectSecrets) openSecret(project, key string, sealed []byte) (string, error) {
	if s.Sealer == nil {
		return "", errors.New("no key-encryption key is configured")
	}
	secret, err := s.Sealer.OpenSecret(PurposeProject, project, key, sealed)
	return string(secret), err
}
