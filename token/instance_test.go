package token

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const enrolmentID, credentialID = "5f0c6a52-4a3e-4b0e-9a55-0a1d3a4c7f11", "c0ffee00-4a3e-4b0e-9a55-0a1d3a4c7f11"

func instance(id string) Instance {
	return Instance{Region: "eu-west", Enrolment: enrolmentID, Credential: credentialID, ID: id,
		ExpiresAt: time.Unix(1_800_000_000, 0).UTC()}
}

// Servers run for days: a later build must accept what this one made.
func TestInstanceTokensKeepTheirForm(t *testing.T) {
	t.Parallel()
	tokens := newServerTokens(t, 1)
	raw := string(tokens.InstanceToken(instance("eu.arena:7")))
	require.Equal(t, "li1.eu-west."+enrolmentID+"."+credentialID+".ZXUuYXJlbmE6Nw.1800000000.fwT9oPzbkfu8xKG0fB-QDRv3UYaaDFKaEafk2nR2FwU", raw)
}

// What a credential says is what it was made of, whatever the id of the instance, under any configured key.
func TestInstanceTokensSayWhatTheyWereMadeOf(t *testing.T) {
	t.Parallel()
	before, during, after := newServerTokens(t, 1), newServerTokens(t, 2, 1), newServerTokens(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		made := instance(rapid.StringOfN(rapid.RuneFrom([]rune("aZ09._:-")), 1, 128, 128).Draw(t, "id"))
		raw := string(before.InstanceToken(made))
		require.LessOrEqual(t, len(raw), MaxInstanceToken)
		got, by, ok := during.VerifyInstance(raw)
		require.True(t, ok)
		require.Equal(t, made, got)
		require.Equal(t, before.MadeBy(), by)
		require.NotEqual(t, during.MadeBy(), by, "it is due for renewal")
		_, _, ok = after.VerifyInstance(raw)
		require.False(t, ok)
	})
}

// A credential speaks for one instance until one time: any change of it is refused.
func TestChangedInstanceTokensAreRefused(t *testing.T) {
	t.Parallel()
	tokens := newServerTokens(t, 1)
	raw := string(tokens.InstanceToken(instance("a")))
	rapid.Check(t, func(t *rapid.T) {
		at, b := rapid.IntRange(0, len(raw)-1).Draw(t, "at"), rapid.Byte().Draw(t, "byte")
		changed := raw[:at] + string([]byte{b}) + raw[at+1:]
		_, _, ok := tokens.VerifyInstance(changed)
		require.Equal(t, changed == raw, ok, changed)
	})
	other := string(tokens.InstanceToken(instance("b")))
	mac := raw[strings.LastIndexByte(raw, '.'):]
	for _, bad := range []string{"", "li1.", "li1", raw + "=", raw + ".x", raw[:len(raw)-1], " " + raw, other[:strings.LastIndexByte(other, '.')] + mac,
		strings.Replace(raw, "1800000000", "1900000000", 1), string(tokens.Token(ForFleet, Deployment{"eu", deploymentID}))} {
		_, _, ok := tokens.VerifyInstance(bad)
		require.False(t, ok, bad)
	}
	_, _, ok := tokens.Verify(ForFleet, raw)
	require.False(t, ok, "it is not the token of a deployment")
	require.Equal(t, "[hidden]", fmt.Sprint(tokens.InstanceToken(instance("a"))))
}

func FuzzInstanceToken(f *testing.F) {
	tokens := newServerTokens(f, 1)
	f.Add(string(tokens.InstanceToken(instance("a"))))
	f.Add("li1.eu.a.b.YQ.1.")
	f.Fuzz(func(t *testing.T, raw string) {
		if got, _, ok := tokens.VerifyInstance(raw); ok {
			require.Equal(t, string(tokens.InstanceToken(got)), raw, "what a credential says has one token")
		}
	})
}
