package bench

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Pins a shortcut whose result differs from a JSON parser's.
func TestAnswerIsReadAsJSONIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		body, err := json.Marshal(map[string]any{"a": 1, "id": want, "id_too": "x"})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(body, &struct {
			ID *string `json:"id"`
		}{&want}))
		got, ok := findString(body, "id")
		require.True(t, ok)
		require.Equal(t, want, got)
	})
	got, ok := findString([]byte(`{"id": "x"}`), "id")
	require.True(t, ok)
	require.Equal(t, "x", got)
}

func FuzzAnswer(f *testing.F) {
	for _, body := range []string{``, `"id":`, `{"id":1}`, `{"id":"`, `{"id":"\`, `{"id":"\"`, `{"id":"\u12"}`} {
		f.Add([]byte(body))
		_, ok := findString([]byte(body), "id")
		require.False(f, ok, body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text, ok := findString(body, "id")
		require.True(t, ok || text == "")
		var id string
		err := readStrings(body, member{"id", &id})
		require.Equal(t, ok, err == nil)
	})
}
