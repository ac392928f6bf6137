package rest

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

type spelled struct {
	Name   string             `json:"name"`
	Seats  []*spelledSeat     `json:"seats"`
	Labels map[string]*string `json:"labels"`
	ByTeam map[string]*spelledSeat
	Teams  map[string]*spelledSeat `json:"teams"`
	Any    map[string]any          `json:"any"`
	Raw    json.RawMessage         `json:"raw"`
	Self   *spelled                `json:"self"`
	ID     string                  `json:"id"`
	embedded
}

type embedded struct {
	Region string `json:"region"`
}

type spelledSeat struct {
	Player string `json:"player"`
}

// Pins requests that silently asked for something else: a misspelt name is refused at any depth, and named.
func TestMisspeltNames(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{}`: "", ` { } `: "", `{"name":"x","NAME":"y","id":"z","region":"e"}`: "", `{"idx":1,"other":{"nam":1},"regionalism":1}`: "",
		`{"labels":{"nam":"x","player":null},"any":{"nam":{"seat":1}},"raw":{"nam":[{"play":1}]}}`: "",
		`{"nam":1}`: "nam", `{"Names":1}`: "Names", `{"regin":"eu"}`: "regin", `{"n\u0061m":1}`: "nam",
		`{"seats":[{"player":"a"}, {"x":[1,{"player":2}],"playr":null}]}`: "seats[1].playr",
		`{"teams":{"re\"d":{"plaer":1}}}`:                                 `teams.re"d.plaer`,
		`{"self":{"self":{"seats":[],"label":{}}}}`:                       "self.self.label",
		`{"a":-1.5e3,"b":true,"c":null,"d":"}\"","e":[],"f":{},"seat":0}`: "seat",
	} {
		var into spelled
		require.NoError(t, json.Unmarshal([]byte(body), &into), body)
		err := checkSpelling([]byte(body), &into)
		if field == "" {
			require.NoError(t, err, body)
			continue
		}
		p, ok := errors.AsType[*Problem](err)
		require.True(t, ok, body)
		require.Len(t, p.Errors, 1, body)
		require.Equal(t, field, p.Errors[0].Field, body)
		require.Contains(t, p.Errors[0].Detail, "did you mean", body)
	}
}

// FuzzSpelling checks that the reader ends where encoding/json does.
func FuzzSpelling(f *testing.F) {
	for _, body := range []string{`{"name":"x"}`, `{"seats":[{"player":"\\\""}],"teams":{"":{}}}`, "{ \"a\" :\t[ ] ,\n\"b\":[ {} , 1 ] } "} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var into map[string]any
		if json.Unmarshal([]byte(body), &into) != nil || into == nil {
			return
		}
		s := speller{body: []byte(body)}
		s.readValue(fieldsOf(reflect.TypeFor[spelled]()), nil)
		s.skipSpace()
		require.Equal(t, len(body), s.position)
	})
}
