package texts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/texts"
)

// hookThat starts a hook.
func hookThat(t *testing.T, failOpen bool, answers http.HandlerFunc) *texts.Hook {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	return texts.New(strings.Replace(server.URL, "://", "://user:secret@", 1), failOpen, func(context.Context, error) {})
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

var hello = texts.Message{Project: "p", Room: "lobby:1", Session: "s-1", Player: "ada", Data: json.RawMessage(`{"text":"hi"}`)}

func TestAHookDecides(t *testing.T) {
	t.Parallel()
	var got string
	h := hookThat(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		_, _ = io.WriteString(w, `{"allow":true,"data":{"text":"**"}}`)
	})
	data, err := h.Check(t.Context(), hello)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"**"}`, string(data))
	require.JSONEq(t, `{"project":"p","room":"lobby:1","session":"s-1","player":"ada","data":{"text":"hi"}}`, got)

	data, err = hookThat(t, false, answering(`{"allow":true}`)).Check(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, hello.Data, data)
	_, err = hookThat(t, true, answering(`{"allow":false,"reason":"`+strings.Repeat("é", 150)+`"}`)).Check(t.Context(), hello)
	refused := &texts.Refused{}
	require.ErrorAs(t, err, &refused)
	require.Equal(t, strings.Repeat("é", 100), refused.Reason)
	data, err = texts.New("", false, nil).Check(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, hello.Data, data, "without a hook everything is allowed")
}

// Pins a hook whose failure lets everything through, or nothing, against what the operator has chosen.
func TestAHookThatFails(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]http.HandlerFunc{
		"status":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no JSON":  answering("ok"), "no verdict": answering(`{}`), "wrong type": answering(`{"allow":"yes"}`),
		"too long": answering(`{"allow":true,"reason":"` + strings.Repeat("x", 64<<10) + `"}`),
		"too late": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the caller is gone
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := hookThat(t, false, answers).Check(t.Context(), hello)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
			data, err := hookThat(t, true, answers).Check(t.Context(), hello)
			require.NoError(t, err)
			require.Equal(t, hello.Data, data)
			require.Less(t, time.Since(began), 10*texts.Deadline)
		})
	}
}
