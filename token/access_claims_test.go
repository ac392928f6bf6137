package token_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/token"
)

// Pins a claim that is read from the wrong object, or of which one of two values counts.
func TestClaimsAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payload string
		path    []string
		want    string // "": there is none
		refused bool
	}{
		{`{"skill":1500}`, []string{"skill"}, "1500", false},
		{`{"game":{"skill": 1500 }}`, []string{"game", "skill"}, "1500", false},
		{`{"https://studio.example/game":{"skill":[1, "}"]}}`, []string{"https://studio.example/game", "skill"}, `[1, "}"]`, false},
		{`{"Skill":1,"game":{"skill":2}}`, []string{"skill"}, "", false},
		{`{"game":null}`, []string{"game", "skill"}, "", true},
		{`{"game":7}`, []string{"game", "skill"}, "", true},
		{`{"game":{}}`, []string{"game", "skill"}, "", false},
		{`{"skill":1,"skill":2}`, []string{"skill"}, "", true},
		{`{"game":{"skill":1},"game":{}}`, []string{"game", "skill"}, "", true},
		{`{"game":{"skill":1,"sk\u0069ll":2}}`, []string{"game", "skill"}, "", true},
		{`{"game":{"skill":1}}`, nil, "", false},
	} {
		raw := "eyJhbGciOiJFZERTQSJ9." + base64.RawURLEncoding.EncodeToString([]byte(c.payload)) + ".e30"
		claims, err := token.ReadClaims(raw)
		if err == nil {
			var got string
			var found bool
			got, found, err = claims.At(c.path...)
			require.Equal(t, c.want, got, c.payload)
			require.Equal(t, c.want != "", found, c.payload)
		}
		require.Equal(t, c.refused, err != nil, c.payload)
	}
	_, err := token.ReadClaims("no token")
	require.ErrorIs(t, err, token.Malformed)
}
