package console

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins an answer of any kind without the headers that keep strangers' code out, and assets that browsers load again and
// again.
func TestHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	script := b.console.assets.pathOf("console.js")
	for path, status := range map[string]int{"/login": http.StatusSeeOther, "/fleet": http.StatusOK,
		"/nowhere": http.StatusNotFound, script: http.StatusOK, "/static/x": http.StatusNotFound} {
		got := w.get(path)
		require.Equal(t, status, got.Status, path)
		csp := got.Header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'", path)
		require.NotContains(t, csp, "unsafe", path)
		require.Contains(t, csp, "frame-ancestors 'none'")
		require.Equal(t, "DENY", got.Header.Get("X-Frame-Options"))
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		if path == script {
			require.Contains(t, got.Header.Get("Cache-Control"), "immutable")
			require.Contains(t, got.Header.Get("Content-Type"), "javascript")
		} else {
			require.Equal(t, "no-store", got.Header.Get("Cache-Control"), path)
		}
	}
}

// Pins templates with what the policy would block, which browsers then ignore silently.
func TestTemplatesHaveNoInlineCode(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+="|<script(?: defer)?>|javascript:|https?://`)
	err := fs.WalkDir(templateFiles, "templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(path)
		require.Empty(t, inline.FindString(string(text)), path)
		return err
	})
	require.NoError(t, err)
	script, err := staticFiles.ReadFile("static/console.js")
	require.NoError(t, err)
	require.False(t, strings.Contains(string(script), "http://") || strings.Contains(string(script), "https://"),
		"it works offline")
}
