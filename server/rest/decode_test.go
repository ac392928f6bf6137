package rest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/server/rest"
)

// with returns a valid body with more members.
func with(members string) string { return `{"id":"a","region":"eu",` + members + `}` }

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// Each of these bodies has made some server answer 500, crash, or store wrong data.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for name, tc := range map[string]struct {
		body, code, field string
	}{
		"empty":                      {``, "invalid_json", ""},
		"blank":                      {" \n", "invalid_json", ""},
		"null":                       {`null`, "invalid_json", ""},
		"list":                       {`[]`, "invalid_json", ""},
		"text":                       {`"a"`, "invalid_json", ""},
		"form":                       {`id=a&region=eu`, "invalid_json", ""},
		"byte order mark":            {"\ufeff" + with(`"seats":1`), "invalid_json", ""},
		"cut off":                    {`{"id":"a`, "invalid_json", ""},
		"trailing object":            {with(`"seats":1`) + `{}`, "invalid_json", ""},
		"trailing comma":             {`{"id":"a","region":"eu",}`, "invalid_json", ""},
		"single quotes":              {`{'id':'a'}`, "invalid_json", ""},
		"comment":                    {with(`/* hi */"seats":1`), "invalid_json", ""},
		"NaN":                        {with(`"load":NaN`), "invalid_json", ""},
		"raw NUL":                    {with("\"x\":\"\x00\""), "invalid_json", ""},
		"invalid UTF-8":              {with("\"x\":\"\xff\""), "invalid_json", ""},
		"UTF-8 surrogate":            {with("\"x\":\"\xed\xa0\x80\""), "invalid_json", ""},
		"deep list, ignored":         {with(`"x":` + nested(40)), "invalid_json", ""},
		"deep list":                  {with(`"x":` + nested(30_000)), "invalid_json", ""},
		"deep and open":              {strings.Repeat(`{"a":`, 12_000), "invalid_json", ""},
		"deep in spite of quotes":    {with(`"x":["\"]]]]",` + nested(40) + `]`), "invalid_json", ""},
		"escaped NUL":                {with(`"party":["p","p\u0000"]`), "invalid_request", "party[1]"},
		"escaped NUL in ignored":     {with(`"x":{"y":[1,{"z":"\u0000"}]}`), "invalid_request", "x.y[1].z"},
		"escaped NUL in a name":      {with(`"labels":{"k\u0000":"v"}`), "invalid_request", "labels.k\x00"},
		"half a surrogate pair":      {with(`"party":["\ud800"]`), "invalid_request", "party[0]"},
		"other half":                 {with(`"party":["\uDC00x"]`), "invalid_request", "party[0]"},
		"halves in wrong order":      {with(`"party":["\udc00\ud800"]`), "invalid_request", "party[0]"},
		"huge integer":               {with(`"seats":99999999999999999999`), "invalid_request", "seats"},
		"huge exponent":              {with(`"load":1e400`), "invalid_request", "load"},
		"exponent into integer":      {with(`"seats":1e400`), "invalid_request", "seats"},
		"fraction into integer":      {with(`"seats":1.5`), "invalid_request", "seats"},
		"text into integer":          {with(`"seats":"8"`), "invalid_request", "seats"},
		"integer into text":          {`{"id":7,"region":"eu"}`, "invalid_request", "id"},
		"text into bool":             {with(`"drain":"yes"`), "invalid_request", "drain"},
		"text into list":             {with(`"party":"p"`), "invalid_request", "party"},
		"object into list":           {with(`"party":{"a":[1]}`), "invalid_request", "party"},
		"list into object":           {with(`"labels":[1,2]`), "invalid_request", "labels"},
		"object into integer":        {with(`"seats":{}`), "invalid_request", "seats"},
		"integer in a list":          {with(`"party":["a", 7 ,"b"]`), "invalid_request", "party[1]"},
		"integer in an object":       {with(`"labels":{"a":"b","c":1}`), "invalid_request", "labels.c"},
		"wrong type deep inside":     {with(`"joined":[{"sub":"a","jti":"b"},{"sub":["a"]}]`), "invalid_request", "joined[1].sub"},
		"malformed UUID":             {with(`"incarnation":"1234"`), "invalid_request", "incarnation"},
		"null in a list":             {with(`"party":["a",null]`), "invalid_request", "party[1]"},
		"required but null":          {`{"id":null,"region":"eu"}`, "invalid_request", "id"},
		"required but other spelled": {`{"i d":"a","region":"eu"}`, "invalid_request", "id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := b.post(tc.body)
			require.Equal(t, http.StatusBadRequest, w.Code, w.Body.String())
			p := problem(t, w)
			require.Equal(t, tc.code, p.Code)
			if tc.field != "" {
				require.Equal(t, []string{tc.field}, fields(p), w.Body.String())
			}
		})
	}
}

// Strict decoding must not refuse valid requests of older, newer and third-party clients.
func TestHarmlessBodies(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for name, body := range map[string]string{
		"unknown members":        with(`"x":{"y":[1,2,{}]},"z":1e400`),
		"null is absent":         with(`"load":null,"party":null,"labels":null,"seats":null,"incarnation":null`),
		"white space":            " \r\n\t" + with(`"seats":1`) + "\n",
		"escaped characters":     with(`"party":["\u00e9","\ud83d\ude00","\\u0000","\\ud800"]`),
		"last of duplicates":     `{"id":"!","id":"a","region":"eu"}`,
		"many but not deep":      with(`"x":[` + strings.Repeat(`{},`, 100) + `[]]`),
		"brackets in text":       with(`"labels":{"a":"` + strings.Repeat(`[{\"`, 100) + `"}`),
		"as deep as allowed":     with(`"x":` + nested(31)),
		"an incarnation":         with(`"incarnation":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`),
		"as long as allowed":     with(`"x":"` + strings.Repeat("a", 64<<10-len(with(`"x":""`))) + `"`),
		"the replacement itself": with(`"x":["\ufffd","�!"]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := b.post(body)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		})
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for mediaType, want := range map[string]int{
		"":                                  http.StatusOK,
		"application/json":                  http.StatusOK,
		"Application/JSON; charset=UTF-8":   http.StatusOK,
		"application/vnd.arena+json":        http.StatusOK,
		"application/json; charset=utf-16":  http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"text/plain":                        http.StatusUnsupportedMediaType,
		"text/json":                         http.StatusUnsupportedMediaType,
		"application/jsonp":                 http.StatusUnsupportedMediaType,
		"application/json; charset":         http.StatusUnsupportedMediaType,
		"; /":                               http.StatusUnsupportedMediaType,
	} {
		w := b.post(with(`"seats":1`), "Content-Type", mediaType)
		require.Equal(t, want, w.Code, mediaType)
		if want != http.StatusOK {
			require.Equal(t, "unsupported_media_type", problem(t, w).Code)
		}
	}
	w := b.post(with(`"seats":1`), "Content-Encoding", "gzip")
	require.Equal(t, http.StatusUnsupportedMediaType, w.Code, "the limit applies to bytes on the wire, not to the decompressed size")
}

// reads counts the bytes that are read of a body.
type reads struct {
	io.Reader
	n int
}

func (r *reads) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += n
	return n, err
}

// An endless body must not be read into memory, with or without a Content-Length.
func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for announced, wantRead := range map[int64]int{-1: 64<<10 + 1, 64<<10 + 1: 0, 1 << 40: 0} {
		body := &reads{Reader: strings.NewReader(strings.Repeat(" ", 1<<20))}
		r := httptest.NewRequest(http.MethodPost, "/join", body)
		r.ContentLength = announced
		w := b.serve(r)
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
		require.Equal(t, "body_too_large", problem(t, w).Code)
		require.Equal(t, wantRead, body.n)
	}
}

// A body that breaks off is the caller's error: 4xx, never 500.
func TestBodyThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for err, want := range map[error]int{
		errors.New("connection reset"): http.StatusBadRequest,
		io.ErrUnexpectedEOF:            http.StatusBadRequest,
		os.ErrDeadlineExceeded:         http.StatusRequestTimeout,
	} {
		body := io.MultiReader(strings.NewReader(`{"id":"a",`), errorReader{err})
		w := b.serve(httptest.NewRequest(http.MethodPost, "/join", body))
		require.Equal(t, want, w.Code)
		problem(t, w)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// A body decodes to the values that were sent, whatever the reused buffers held before.
func TestDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	sub := rapid.StringMatching(`[\p{L}\p{N} "\\/<>{}\[\]:,]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		want := joinRequest{
			ID:     rapid.StringMatching(`[A-Za-z0-9._:-]{1,128}`).Draw(t, "id"),
			Region: rapid.StringMatching(`[a-z0-9-]{1,32}`).Draw(t, "region"),
			Party:  rapid.SliceOfNDistinct(sub, 1, 4, rapid.ID[string]).Draw(t, "party"),
			Seats:  rapid.IntRange(0, 1024).Draw(t, "seats"),
			Labels: rapid.MapOf(sub, sub).Draw(t, "labels"),
		}
		body, err := json.Marshal(want)
		require.NoError(t, err)
		w := b.post(string(body))
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got joinAnswer
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Equal(t, want, got.Echo)
	})
}

// The error names the invalid element, wherever in the list it is.
func TestWrongElementIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	rapid.Check(t, func(t *rapid.T) {
		party := make([]any, rapid.IntRange(1, 40).Draw(t, "length"))
		for i := range party {
			party[i] = rapid.String().Draw(t, "sub")
		}
		bad := rapid.IntRange(0, len(party)-1).Draw(t, "bad")
		party[bad] = rapid.SampledFrom([]any{1, 1.5, true, []int{}, map[string]int{}}).Draw(t, "value")
		body, err := json.Marshal(map[string]any{"x": []string{"\u00e9"}, "party": party})
		require.NoError(t, err)
		if strings.Contains(string(body), `\u0000`) {
			return // This is another error, which may be reported first.
		}
		w := b.post(string(body))
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Equal(t, []string{"party[" + strconv.Itoa(bad) + "]"}, fields(problem(t, w)))
	})
}

// FuzzDecode checks that any body is answered with 200 or a 4xx problem, and that accepted strings can be stored.
func FuzzDecode(f *testing.F) {
	b := setup(f, rest.Options{})
	for _, seed := range []string{
		`{"id":"a","region":"eu"}`, with(`"party":["\u0000"]`), with(`"party":["\ud83d\ude00","\ud800"]`),
		with(`"joined":[{"sub":1}]`), with(`"load":1e400`), with(`"x":` + nested(40)), with(`"incarnation":""`),
		`{"id":`, `[]`, "{\"\xff\":1}", `{"a":{"b":[[],{}]}}`, with(`"incarnation":"x","labels":{"\\":"\""}`),
	} {
		f.Add(seed, "application/json")
	}
	f.Add(`{}`, "text/plain; charset=")
	f.Fuzz(func(t *testing.T, body, mediaType string) {
		r := request(http.MethodPost, "/join", body)
		r.Header["Content-Type"] = []string{mediaType}
		w := b.serve(r)
		switch w.Code {
		case http.StatusOK:
			require.True(t, json.Valid([]byte(body)))
			var got joinAnswer
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			for _, s := range append(got.Echo.Party, got.Echo.ID, got.Echo.Region) {
				require.True(t, utf8.ValidString(s) && !strings.ContainsRune(s, 0), "%q", s)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			problem(t, w)
		default:
			t.Fatalf("status %d for %q", w.Code, body)
		}
		b.log.Reset()
	})
}
