package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"
)

// Sealer encrypts secrets with key-encryption keys. The first of these seals, and all of them open. To rotate them,
// put the new one first, reseal every row, and remove the old one. Safe for concurrent use.
type Sealer struct {
	firstKEK      kek
	byID          map[string]kek
	serverKeyList []serverKeys // in the order of the key-encryption keys
	cookieSealer  *Cookies
}

// NewSealer makes a Sealer of one or more key-encryption keys of KEKBytes each.
func NewSealer(keks ...[]byte) (*Sealer, error) {
	if len(keks) == 0 {
		return nil, errors.New("no key-encryption key")
	}
	s := &Sealer{byID: make(map[string]kek, len(keks)),
		cookieSealer: &Cookies{byID: make(map[string]cookieKey, len(keks))}}
	for i, secret := range keks {
		k, err := newKEK(secret)
		if err != nil {
			return nil, fmt.Errorf("key-encryption key %d of %d: %w", i+1, len(keks), err)
		}
		if i == 0 {
			s.firstKEK = k
		}
		s.byID[k.id] = k
		keysOfServers, err := newServerKeys(k.id, secret)
		if err != nil {
			return nil, err
		}
		s.serverKeyList = append(s.serverKeyList, keysOfServers)
		keyOfCookies, err := newCookieKey(k.id, secret)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.cookieSealer.first = keyOfCookies
		}
		s.cookieSealer.byID[k.id] = keyOfCookies
	}
	return s, nil
}

// Open returns the private key of m. It checks that the key was sealed for this kid, and that the kid is its
// thumbprint. Errors: ErrSealed.
func (s *Sealer) Open(m Material) (ed25519.PrivateKey, error) {
	seed, err := s.openVersion(sealVersion, m.Sealed, []byte(m.KID))
	if err == nil && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("%w: %d bytes are no seed", ErrSealed, len(seed))
	}
	if err != nil {
		return nil, fmt.Errorf("kid %q: %w", m.KID, err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	if kid, err := keyThumbprint(private); err != nil || kid != m.KID {
		return nil, fmt.Errorf("kid %q: %w: this is not the key's thumbprint", m.KID, ErrSealed)
	}
	return private, nil
}

// Reseal seals m with the first key-encryption key; false means that m already was sealed with it.
func (s *Sealer) Reseal(m Material) (Material, bool, error) {
	private, err := s.Open(m)
	if err != nil {
		return m, false, err
	}
	if s.sealedByFirst(m.Sealed) {
		return m, false, nil
	}
	s.sealKey(&m, private)
	return m, true, nil
}

// sealKey encrypts the key. It also sets SealedBy, for people who read the table.
func (s *Sealer) sealKey(m *Material, private ed25519.PrivateKey) {
	m.Sealed, m.SealedBy = s.sealSecret(sealVersion, private.Seed(), []byte(m.KID)), s.firstKEK.hexFingerprint()
}

// sealSecret encrypts with the first key-encryption key; data is authenticated and not stored.
func (s *Sealer) sealSecret(version byte, secret, data []byte) []byte {
	header := append([]byte{version}, s.firstKEK.id...)
	return s.firstKEK.aead.Seal(header, nil, secret, data) //nolint:gosec // G407: this AEAD makes its own random nonces
}

// openVersion reverses sealSecret, with any of the key-encryption keys. Errors: ErrSealed.
func (s *Sealer) openVersion(version byte, sealed, data []byte) ([]byte, error) {
	if len(sealed) < sealHeader || sealed[0] != version {
		return nil, fmt.Errorf("%w: not in a known format", ErrSealed)
	}
	k, known := s.byID[string(sealed[1:sealHeader])]
	if !known {
		return nil, fmt.Errorf("%w: key-encryption key %x is not configured", ErrSealed, sealed[1:sealHeader])
	}
	secret, err := k.aead.Open(nil, nil, sealed[sealHeader:], data)
	if err != nil {
		return nil, fmt.Errorf("%w: changed, or sealed for another row", ErrSealed)
	}
	return secret, nil
}

// sealedByFirst reports whether an opened form names the first key-encryption key.
func (s *Sealer) sealedByFirst(sealed []byte) bool {
	return string(sealed[1:sealHeader]) == s.firstKEK.id
}

// Mint makes and seals a new Ed25519 key.
func (s *Sealer) Mint(alg string) (Material, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Material{}, err
	}
	kid, err := keyThumbprint(private)
	if err != nil {
		return Material{}, err
	}
	public, err := publicJWK(private, kid, alg)
	if err != nil {
		return Material{}, err
	}
	m := Material{KID: kid, Alg: alg, PublicJWK: public}
	s.sealKey(&m, private)
	return m, nil
}

// ServerTokens returns the maker and verifier of credentials under the sealer's key-encryption keys.
func (s *Sealer) ServerTokens() *ServerTokens { return &ServerTokens{keysByKEK: s.serverKeyList} }

// Cookies returns the seal of cookies under the sealer's key-encryption keys.
func (s *Sealer) Cookies() *Cookies { return s.cookieSealer }
