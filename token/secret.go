package token

import (
	"encoding/binary"
	"slices"
	"strings"
)

// PurposeNetcode is the purpose of netcode keys of deployments: SealSecret and OpenSecret take it with the region and
// the id of the deployment.
const PurposeNetcode = "netcode"

// SealSecret encrypts a secret of a row: purpose says what it is for, region and id name the row. The secret opens for
// exactly these three. sealedBy is the fingerprint of the key-encryption key, which the row stores for people who read
// the table.
func (s *Sealer) SealSecret(purpose, region, id string, secret []byte) (sealed []byte, sealedBy string) {
	return s.sealSecret(secretVersion, secret, secretData(purpose, region, id)), s.firstKEK.hexFingerprint()
}

// OpenSecret returns the secret that SealSecret encrypted for this purpose, region and id. Errors: ErrSealed.
func (s *Sealer) OpenSecret(purpose, region, id string, sealed []byte) ([]byte, error) {
	return s.openVersion(secretVersion, sealed, secretData(purpose, region, id))
}

// ResealSecret encrypts a sealed secret with the first key-encryption key; false means that it already was
// encrypted with it. Errors:
// ErrSealed.
func (s *Sealer) ResealSecret(purpose, region, id string,
	sealed []byte) (resealed []byte, sealedBy string, changed bool, err error) {
	secret, err := s.OpenSecret(purpose, region, id, sealed)
	if err != nil {
		return sealed, "", false, err
	}
	if s.sealedByFirst(sealed) {
		return sealed, s.firstKEK.hexFingerprint(), false, nil
	}
	resealed, sealedBy = s.SealSecret(purpose, region, id, secret)
	return resealed, sealedBy, true, nil
}

// secretData is the authenticated data of a secret. A byte that no kid begins with keeps secrets apart from signing
// keys, the lengths keep the words apart.
func secretData(words ...string) []byte {
	data := []byte{0, secretVersion}
	for _, word := range words {
		data = binary.AppendUvarint(data, uint64(len(word)))
		data = append(data, word...)
	}
	return data
}

// Has reports whether a configured key-encryption key has the fingerprint.
func (s *Sealer) Has(fingerprint string) bool {
	for _, k := range s.byID {
		if k.hexFingerprint() == fingerprint {
			return true
		}
	}
	return false
}

// Fingerprints returns the fingerprints of the configured key-encryption keys: first that of the one that seals, then
// the others, sorted.
func (s *Sealer) Fingerprints() []string {
	all := make([]string, 0, len(s.byID))
	for _, k := range s.byID {
		all = append(all, k.hexFingerprint())
	}
	first := s.First()
	slices.SortFunc(all, func(a, b string) int {
		switch {
		case a == first:
			return -1
		case b == first:
			return 1
		}
		return strings.Compare(a, b)
	})
	return all
}

// First returns the fingerprint of the key-encryption key that seals.
func (s *Sealer) First() string { return s.firstKEK.hexFingerprint() }
