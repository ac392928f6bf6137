package rest_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/server/rest"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format    rest.Format
		good, bad []string
	}{
		"id": {
			rest.ID,
			[]string{"a", "Arena-1._:Z", strings.Repeat("x", 128)},
			[]string{"", strings.Repeat("x", 129), "a b", "a/b", "ä", "a\n", "a\x00"},
		},
		"region": {
			rest.Region,
			[]string{"eu", "us-east-1", strings.Repeat("x", 32)},
			[]string{"", strings.Repeat("x", 33), "EU", "eu.1", "eu_1", "eu\n"},
		},
		"mode": {
			rest.Mode,
			[]string{"duel", "Team_4v4.2-x", strings.Repeat("x", 64)},
			[]string{"", strings.Repeat("x", 65), "a:b", "a b"},
		},
		"sub": {
			rest.Sub,
			[]string{"a", "auth0|5f", "Zoë 😀", strings.Repeat("x", 255)},
			[]string{"", strings.Repeat("x", 256), strings.Repeat("é", 128), "a\x00", "a\nb", "a\x7f", "a\u0085", "\xff", "a\ufffd"},
		},
		"jti": {
			rest.JTI,
			[]string{"a", `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`", strings.Repeat("x", 128)},
			[]string{"", strings.Repeat("x", 129), "a b", "é", "\x7f", "\x1f"},
		},
	} {
		for _, s := range tc.good {
			require.True(t, tc.format.Valid(s), "%s %q", name, s)
		}
		for _, s := range tc.bad {
			require.False(t, tc.format.Valid(s), "%s %q", name, s)
		}
	}
}

// The table of bytes must agree with the text of Format.Allowed.
func TestJTIAllowsVisibleASCII(t *testing.T) {
	t.Parallel()
	for r := range rune(256) {
		require.Equal(t, r > ' ' && r < 0x7f, rest.JTI.Valid(string(r)), "%q", r)
	}
}

func TestSubIsAnyPrintableText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		anyBytes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 300), func(b []byte) string { return string(b) })
		s := rapid.OneOf(rapid.String(), anyBytes).Draw(t, "sub")
		want := len(s) >= 1 && len(s) <= 255 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) && !strings.ContainsRune(s, utf8.RuneError)
		require.Equal(t, want, rest.Sub.Valid(s))
	})
}

// One answer names all invalid fields, by their JSON names, and what is allowed.
func TestCheckNamesEveryInvalidField(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	w := b.post(`{"region":"EU","party":["a","a","\n"],"seats":1025,
		"joined":[{"sub":"a","jti":"b"},{"sub":"","jti":"x y"}]}`)
	require.Equal(t, 400, w.Code)
	p := problem(t, w)
	require.Equal(t, "invalid_request", p.Code)
	require.Equal(t, []rest.FieldError{
		{Field: "id", Detail: "is required and must be 1 to 128 characters of A-Z a-z 0-9 . _ : -"},
		{Field: "region", Detail: "must be 1 to 32 characters of a-z 0-9 -"},
		{Field: "party[2]", Detail: "must be 1 to 255 bytes of UTF-8 without control characters and without U+FFFD"},
		{Field: "party[1]", Detail: "is in the list twice"},
		{Field: "seats", Detail: "must be 0 to 1024"},
		{Field: "joined[1].sub", Detail: "is required and must be 1 to 255 bytes of UTF-8 without control characters and without U+FFFD"},
		{Field: "joined[1].jti", Detail: "must be 1 to 128 visible ASCII characters"},
	}, p.Errors)
	require.Equal(t, "id "+p.Errors[0].Detail, p.Detail, "detail alone must help too")
}

// Ten thousand invalid entries must not produce an answer larger than the request.
func TestCheckBoundsTheErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	w := b.post(with(`"party":[` + strings.Repeat(`"",`, 10_000) + `""]`))
	require.Len(t, problem(t, w).Errors, 32)
	require.Less(t, w.Body.Len(), 8<<10)
}

func TestCheckBounds(t *testing.T) {
	t.Parallel()
	var c rest.Check
	c.Range("n", 1, 1, 3)
	c.Range("n", 3, 1, 3)
	c.Len("s", "", 0, 2)
	c.Len("s", "ab", 0, 2)
	c.Count("l", 1, 1, 2)
	c.Unique("l", []string{"a", "b"})
	c.That(true, "x", "never")
	require.NoError(t, c.Err())

	c.Range("n", 0, 1, 3)
	c.Len("s", "abc", 0, 2)
	c.Count("l", 0, 1, 2)
	c.That(false, "load", "must not be negative")
	var p *rest.Problem
	require.ErrorAs(t, c.Err(), &p)
	require.Equal(t, []rest.FieldError{
		{Field: "n", Detail: "must be 1 to 3"},
		{Field: "s", Detail: "must be 0 to 2 bytes long"},
		{Field: "l", Detail: "must have 1 to 2 entries"},
		{Field: "load", Detail: "must not be negative"},
	}, p.Errors)
}

func TestCheckInListsOfLists(t *testing.T) {
	t.Parallel()
	var c rest.Check
	outer := c.Element("teams", 1)
	inner := outer.Element("players", 2)
	inner.Match("sub", "", rest.Sub)
	require.ErrorContains(t, c.Err(), "teams[1].players[2].sub")
}
