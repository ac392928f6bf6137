package token

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const deploymentID = "0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33"

func newServerTokens(t require.TestingT, keks ...byte) *ServerTokens {
	return sealerOf(t, keks...).ServerTokens()
}

// Servers live for a day: a later build must accept what this one made.
func TestDeploymentTokensKeepTheirForm(t *testing.T) {
	t.Parallel()
	tokens := newServerTokens(t, 1)
	d := Deployment{"eu-west", deploymentID}
	for purpose, want := range map[ServerPurpose]string{
		ForFleet:   "zYMh8P-g91jpAaO5wEoH_JhVbbIyJqFj-qK3zxrNrgk",
		ForContext: "5jQ37oqf23CGBaIQ90SN-mXR6uElhzEwhNlmhKTCcEw",
		ForHook:    "84IoAFxx3UEAJ4i4oHhbIkGshthhc5zO0I0ppDJARIM",
	} {
		require.Equal(t, want, string(tokens.MAC(purpose, d)), purpose)
	}
	require.Equal(t, "ld1.eu-west."+deploymentID+"."+string(tokens.MAC(ForFleet, d)), string(tokens.Token(ForFleet, d)))
}

// The rotation of a key-encryption key: servers that run keep their tokens as long as the old one is configured.
func TestDeploymentTokensVerifyUnderAnyKey(t *testing.T) {
	t.Parallel()
	before, during, after := newServerTokens(t, 1), newServerTokens(t, 2, 1), newServerTokens(t, 2)
	d := Deployment{"eu", deploymentID}
	for _, purpose := range serverPurposes {
		raw := string(before.Token(purpose, d))
		_, first, ok := before.Verify(purpose, raw)
		require.True(t, ok)
		got, by, ok := during.Verify(purpose, raw)
		require.True(t, ok)
		require.Equal(t, d, got)
		require.Equal(t, first, by, "the fingerprint must name the key that still authenticates servers")
		_, _, ok = after.Verify(purpose, raw)
		require.False(t, ok)
		_, second, ok := after.Verify(purpose, string(during.Token(purpose, d)))
		require.True(t, ok, "the first key makes the tokens")
		require.NotEqual(t, first, second)
	}
}

func TestDeploymentTokensAreForOnePurpose(t *testing.T) {
	t.Parallel()
	tokens, d := newServerTokens(t, 1), Deployment{"eu", deploymentID}
	for _, made := range serverPurposes {
		for _, asked := range serverPurposes {
			_, _, ok := tokens.Verify(asked, string(tokens.Token(made, d)))
			require.Equal(t, made == asked, ok, "%s as %s", made, asked)
		}
	}
}

// A token speaks for one deployment: any change of it is refused, and so is a second spelling of the same bytes.
func TestChangedDeploymentTokensAreRefused(t *testing.T) {
	t.Parallel()
	tokens := newServerTokens(t, 1)
	raw := string(tokens.Token(ForFleet, Deployment{"eu", deploymentID}))
	rapid.Check(t, func(t *rapid.T) {
		at, b := rapid.IntRange(0, len(raw)-1).Draw(t, "at"), rapid.Byte().Draw(t, "byte")
		changed := raw[:at] + string([]byte{b}) + raw[at+1:]
		_, _, ok := tokens.Verify(ForFleet, changed)
		require.Equal(t, changed == raw, ok, changed)
	})
	for _, bad := range []string{"", "ld1.", "ld1...", raw + "=", raw + ".x", raw[:len(raw)-1], strings.ToUpper(raw), strings.Replace(raw, "ld1", "ld2", 1), " " + raw} {
		_, _, ok := tokens.Verify(ForFleet, bad)
		require.False(t, ok, bad)
	}
}

func TestDeploymentSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	secret := newServerTokens(t, 1).Token(ForFleet, Deployment{"eu", deploymentID})
	require.Equal(t, "[hidden] [hidden] [hidden]", fmt.Sprintf("%v %s %q", secret, secret, secret))
	require.Equal(t, "[hidden]", secret.LogValue().String())
}

func TestMaxDeploymentToken(t *testing.T) {
	t.Parallel()
	longest := newServerTokens(t, 1).Token(ForFleet, Deployment{strings.Repeat("r", 32), deploymentID})
	require.Len(t, string(longest), MaxDeploymentToken)
	_, _, ok := newServerTokens(t, 1).Verify(ForFleet, string(longest))
	require.True(t, ok)
}

func FuzzDeploymentToken(f *testing.F) {
	tokens := newServerTokens(f, 1)
	d := Deployment{"eu", deploymentID}
	f.Add(string(tokens.Token(ForFleet, d)))
	f.Add("ld1.eu." + deploymentID + ".")
	f.Fuzz(func(t *testing.T, raw string) {
		got, _, ok := tokens.Verify(ForFleet, raw)
		if ok {
			require.Equal(t, string(tokens.Token(ForFleet, got)), raw, "a deployment has one token")
		}
	})
}
