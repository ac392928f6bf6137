package token

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The vector of Nexis' control API: its servers accept our tokens, and ours accept its.
const (
	nexisMaster = "nexis-dev-master-secret"
	nexisSecret = "nnJvISSh8Pi8uL82WE0MwheCe72KaG_QX75jbyfdOds"
	nexisToken  = "eyJwcm9qZWN0X2lkIjoicDEiLCJpc3N1ZWRfYXQiOiIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFoiLCJleHBpcmVzX2F0IjoiMjAyNi0wMS0wMVQwMTowMDowMC4wMDBaIiwia2V5X2lk" +
		"IjoiazEifQ.-GrsRNwmGRcT8-eDPcz4h0WACQVVi0vwPnifs2q3bT4"
)

var nexisClaims = ProjectClaims{
	ProjectID: "p1", IssuedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Expires: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), KeyID: "k1",
}

func secretOfProject(secrets ...string) func(string, string) ([]string, error) {
	return func(string, string) ([]string, error) { return secrets, nil }
}

func TestProjectTokensAreThoseOfNexis(t *testing.T) {
	t.Parallel()
	require.Equal(t, nexisSecret, ProjectSecret(nexisMaster, "p1"))
	require.Equal(t, nexisToken, MintProject(nexisSecret, nexisClaims))
	claims, err := VerifyProject(nexisToken, func(project, key string) ([]string, error) {
		require.Equal(t, [2]string{"p1", "k1"}, [2]string{project, key})
		return []string{ProjectSecret(nexisMaster, project)}, nil
	}, nexisClaims.IssuedAt)
	require.NoError(t, err)
	require.Equal(t, nexisClaims, claims)
}

// signed returns a token with any payload that is signed as it must be.
func signed(payload string) string {
	first := base64.RawURLEncoding.EncodeToString([]byte(payload))
	return first + "." + base64.RawURLEncoding.EncodeToString(signProject(nexisSecret, first))
}

const nexisPayload = `{"project_id":"p1","issued_at":"2026-01-01T00:00:00.000Z","expires_at":"2026-01-01T01:00:00.000Z","key_id":"k1"}`

func TestProjectTokensAreRefusedWithTheTextsOfNexis(t *testing.T) {
	t.Parallel()
	replaced := func(old, by string) string { return signed(strings.Replace(nexisPayload, old, by, 1)) }
	payload, mac, _ := strings.Cut(nexisToken, ".")
	for name, c := range map[string]struct {
		token string
		text  string
	}{
		"empty":                          {"", "missing token"},
		"one part":                       {payload, "invalid token format"},
		"three parts":                    {nexisToken + ".x", "invalid token format"},
		"padded":                         {nexisToken + "=", "invalid token format"},
		"spare bits":                     {nexisToken[:len(nexisToken)-1] + "5", "invalid token format"},
		"standard alphabet":              {payload + "." + strings.ReplaceAll(mac, "-", "+"), "invalid token format"},
		"longer than 4 KiB":              {replaced("k1", strings.Repeat("k", 4096)), "invalid token format"},
		"not JSON":                       {signed("x"), "invalid token format"},
		"a list":                         {signed("[]"), "invalid token format"},
		"no project":                     {signed(`{"issued_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T01:00:00Z"}`), "invalid token format"},
		"project of 129 bytes":           {replaced("p1", strings.Repeat("p", 129)), "invalid token format"},
		"project with a space":           {replaced("p1", "p 1"), "invalid token format"},
		"project with a control":         {replaced("p1", `p\u00001`), "invalid token format"},
		"project is a number":            {replaced(`"p1"`, `1`), "invalid token format"},
		"project twice":                  {replaced(`{`, `{"project_id":"p2",`), "invalid token format"},
		"time without zone":              {replaced("01:00:00.000Z", "01:00:00"), "invalid token format"},
		"time as a number":               {replaced(`"2026-01-01T01:00:00.000Z"`, `1767229200`), "invalid token format"},
		"no expiry":                      {replaced(`"expires_at":"2026-01-01T01:00:00.000Z",`, ``), "invalid token format"},
		"key with a space":               {replaced("k1", " "), "invalid token format"},
		"sub with a control":             {replaced(`{`, `{"sub":"a\u0007",`), "invalid token format"},
		"empty sub":                      {replaced(`{`, `{"sub":"",`), "invalid token format"},
		"signed with another secret":     {MintProject("another", nexisClaims), "invalid signature"},
		"signature of another payload":   {strings.Replace(payload, "eyJ", "eyK", 1) + "." + mac, "invalid token format"},
		"claims changed after the mint":  {strings.Split(replaced("k1", "k2"), ".")[0] + "." + mac, "invalid signature"},
		"expired by the leeway":          {replaced("01:00:00.000Z", "00:59:55.000Z"), "token expired"},
		"forged and expired":             {MintProject("another", ProjectClaims{ProjectID: "p1"}), "invalid signature"},
		"expired and of a future format": {replaced("2026-01-01T01", "1999-01-01T01"), "token expired"},
	} {
		_, err := VerifyProject(c.token, secretOfProject(nexisSecret), nexisClaims.Expires)
		require.EqualError(t, err, "token verification failed: "+c.text, name)
	}
}

func TestProjectTokensOfOtherIssuersAreAccepted(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"seconds and an offset": `{"project_id":"p1","issued_at":"2026-01-01T02:00:00+02:00","expires_at":"2026-01-01T03:00:00+02:00"}`,
		"nulls":                 `{"project_id":"p1","issued_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T01:00:00Z","key_id":null,"sub":null,"aud":null}`,
		"any aud, more claims":  `{"x":{},"aud":["a",1],"project_id":"p1","issued_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T01:00:00.000000001Z"}`,
	} {
		claims, err := VerifyProject(signed(payload), secretOfProject("another", nexisSecret), nexisClaims.Expires.Add(ProjectLeeway-1))
		require.NoError(t, err, name)
		require.Equal(t, "p1", claims.ProjectID)
		require.Empty(t, claims.KeyID+claims.Subject)
	}
}

// An error of the lookup is no fault of the client, and an empty secret, such as that of a missing setting, signs
// nothing.
func TestProjectTokensNeedASecret(t *testing.T) {
	t.Parallel()
	broken := errors.New("no database")
	_, err := VerifyProject(nexisToken, func(string, string) ([]string, error) { return nil, broken }, nexisClaims.IssuedAt)
	require.ErrorIs(t, err, broken)
	for _, secrets := range [][]string{nil, {""}} {
		_, err = VerifyProject(MintProject("", nexisClaims), secretOfProject(secrets...), nexisClaims.IssuedAt)
		require.ErrorIs(t, err, ProjectTokenForged)
	}
}

func TestMintedProjectTokensVerifyUntilTheyExpire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 20, MaxProjectNameBytes).Filter(ValidProjectName)
		issued := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "issued")).UTC()
		c := ProjectClaims{
			ProjectID: name.Draw(t, "project"), KeyID: rapid.OneOf(rapid.Just(""), name).Draw(t, "key"), IssuedAt: issued,
			Expires: issued.Add(time.Duration(rapid.Int64Range(1, 1e8).Draw(t, "ttl")) * time.Millisecond),
			Subject: rapid.OneOf(rapid.Just(""), rapid.StringN(1, 40, MaxSubjectBytes).Filter(ValidSubject)).Draw(t, "sub"),
		}
		secret := rapid.StringN(1, 20, -1).Draw(t, "secret")
		token := MintProject(secret, c)
		for _, now := range []time.Time{c.IssuedAt, c.Expires.Add(ProjectLeeway - time.Millisecond)} {
			got, err := VerifyProject(token, secretOfProject(secret), now)
			require.NoError(t, err)
			require.Equal(t, c, got)
		}
		_, err := VerifyProject(token, secretOfProject(secret), c.Expires.Add(ProjectLeeway))
		require.ErrorIs(t, err, ProjectTokenExpired)
		_, err = VerifyProject(token, secretOfProject(secret+"x"), c.IssuedAt)
		require.ErrorIs(t, err, ProjectTokenForged)
		i := rapid.IntRange(0, len(token)-1).Draw(t, "changed")
		_, err = VerifyProject(token[:i]+string(rune('~'))+token[i+1:], secretOfProject(secret), c.IssuedAt)
		require.Error(t, err)
	})
}

// Pins a token that was minted and is refused as too long.
func TestTheLongestClaimsFitIntoAProjectToken(t *testing.T) {
	t.Parallel()
	long := ProjectClaims{
		ProjectID: strings.Repeat(`"`, MaxProjectNameBytes), KeyID: strings.Repeat("\\", MaxProjectNameBytes), Subject: strings.Repeat(`"`, MaxSubjectBytes),
		Audience: strings.Repeat("<", MaxSubjectBytes), IssuedAt: nexisClaims.IssuedAt, Expires: nexisClaims.Expires,
	}
	got, err := VerifyProject(MintProject(nexisSecret, long), secretOfProject(nexisSecret), nexisClaims.IssuedAt)
	require.NoError(t, err)
	long.Audience = ""
	require.Equal(t, long, got)
}

// Pins a token that verifies with another text than the one that was signed: a client could then resume with a token
// that differs from its own.
func FuzzVerifyProject(f *testing.F) {
	for _, seed := range []string{nexisToken, "", ".", "..", signed(`{"project_id":"p1","issued_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T01:00:00Z","sub":"a"}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		claims, err := VerifyProject(token, secretOfProject(nexisSecret), nexisClaims.IssuedAt)
		if err != nil {
			var refusal ProjectRefusal
			require.ErrorAs(t, err, &refusal)
			return
		}
		require.True(t, ValidProjectName(claims.ProjectID))
		payload, signature, _ := strings.Cut(token, ".")
		require.Equal(t, base64.RawURLEncoding.EncodeToString(signProject(nexisSecret, payload)), signature)
	})
}

func TestProjectSecretsOfKeysSignToo(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	own, sealed, by := sealer.NewProjectSecret("p1", "k1")
	require.Equal(t, sealer.First(), by)
	require.Len(t, own, 43)
	s := ProjectSecrets{Master: nexisMaster, Sealer: sealer, Projects: map[string]string{"demo": "demo-secret"}}

	signing, err := s.Signing("p1", "k1", sealed)
	require.NoError(t, err)
	require.Equal(t, nexisSecret, signing, "what servers built for Nexis know")
	verifying, err := s.Verifying("p1", "k1", sealed)
	require.NoError(t, err)
	require.Equal(t, []string{nexisSecret, own}, verifying)
	verifying, err = s.Verifying("demo", "", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"demo-secret"}, verifying)
	verifying, err = s.Verifying("p1", "k2", sealed)
	require.NoError(t, err)
	require.Equal(t, []string{nexisSecret}, verifying, "a secret that was copied to another key opens nothing")

	s.KeysOnly = true
	signing, err = s.Signing("p1", "k1", sealed)
	require.NoError(t, err)
	require.Equal(t, own, signing)
	verifying, err = s.Verifying("p1", "k1", sealed)
	require.NoError(t, err)
	require.Equal(t, []string{own}, verifying)
	verifying, err = s.Verifying("p1", "", nil)
	require.NoError(t, err)
	require.Empty(t, verifying, "without a key nothing verifies")
	_, err = s.Verifying("p1", "k2", sealed)
	require.ErrorIs(t, err, ErrSealed)
}
