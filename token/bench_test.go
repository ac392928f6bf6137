package token

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkSign(b *testing.B) {
	sealer := newSealer(b)
	ring := newRing(b, sealer, mint(b, sealer, AlgEdDSA))
	claims := someClaims()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Sign(start, claims); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifySession(b *testing.B) {
	sealer := newSealer(b)
	ring := newRing(b, sealer, mint(b, sealer, AlgEdDSA))
	raw, err := ring.Sign(start, someClaims())
	require.NoError(b, err)
	v := NewSessionVerifier(published(ring), 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(context.Background(), raw, start); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyAccess measures an uncached token, by algorithm, and a cached one.
func BenchmarkVerifyAccess(b *testing.B) {
	for _, alg := range []string{AlgEdDSA, AlgES256, AlgRS256} {
		b.Run(alg, func(b *testing.B) { benchmarkAccess(b, alg, AccessConfig{CacheSize: -1}) })
	}
	b.Run("seen", func(b *testing.B) { benchmarkAccess(b, AlgEdDSA, AccessConfig{}) })
}

func benchmarkAccess(b *testing.B, alg string, cfg AccessConfig) {
	v := access(b, cfg)
	raw := theIssuer().sign(b, alg, claimsOf("alice"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(context.Background(), raw); err != nil {
			b.Fatal(err)
		}
	}
}
