package clitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Get returns a page.
func Get(t testing.TB, url string) (status int, body string) {
	t.Helper()
	return send(t, http.MethodGet, url, "", nil)
}

// Post sends JSON with a header "Name: value", or with none if header is "".
func Post(t testing.TB, url, header string, body any) (status int, answer string) {
	t.Helper()
	return send(t, http.MethodPost, url, header, body)
}

// Field returns a text of a JSON object, or "" if it has none of that name.
func Field(t testing.TB, body, name string) string {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &fields), body)
	text, _ := fields[name].(string)
	return text
}

func send(t testing.TB, method, url, header string, body any) (int, string) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if name, value, given := strings.Cut(header, ": "); given {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer)
}
