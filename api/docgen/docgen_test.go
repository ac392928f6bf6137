package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api"
	"github.com/lattice-director/director/internal/testkit/must"
)

// currentPage renders the page of the contract.
func currentPage(t *testing.T) string {
	t.Helper()
	page := must.Get(renderPage(api.OpenAPI()))(t)
	return string(page)
}

// The contract must not change without its page.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	require.Equal(t, currentPage(t), string(api.Docs()), "run go generate ./api")
}

// Every link and every problem type must lead to an anchor, and no anchor may occur twice.
func TestEveryAnchorExistsOnce(t *testing.T) {
	t.Parallel()
	page := currentPage(t)
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[id[1]], id[1])
		ids[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`(?:href="|/docs)#([\w-]+)`).FindAllStringSubmatch(page, -1) {
		require.True(t, ids[link[1]], link[1])
	}
}

// The page must work without the internet, and must not send requests to other servers.
func TestThePageLoadsNothing(t *testing.T) {
	t.Parallel()
	for _, loader := range []string{" src=", "<link", "@import", "url(", "fetch("} {
		require.NotContains(t, currentPage(t), loader)
	}
}

// Descriptions must be escaped, and markup must be rendered.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a <b> & c":                          "<p>a &lt;b&gt; &amp; c</p>",
		"one\ntwo\n\nthree":                  "<p>one two</p>\n<p>three</p>",
		"`a<b`, **bold `c`**, *i*":           "<p><code>a&lt;b</code>, <strong>bold <code>c</code></strong>, <em>i</em></p>",
		"[to **it**](#there)":                `<p><a href="#there">to <strong>it</strong></a></p>`,
		"- a\n  b\n- c":                      "<ul>\n<li>a b</li>\n<li>c</li>\n</ul>",
		"1. a\n2. b":                         "<ol>\n<li>a</li>\n<li>b</li>\n</ol>",
		"| Code | M |\n|--|--|\n| `x` | y |": `<div class="scroll"><table class="codes"><thead><tr><th>Code</th><th>M</th></tr></thead><tbody>` + "\n" + `<tr id="x"><td data-head="Code"><code>x</code></td><td data-head="M">y</td></tr>` + "\n</tbody></table></div>",
	} {
		require.Equal(t, want, strings.TrimSpace(string(renderMarkdown(text))))
	}
}

// Commands must be quoted for a shell, and have the header that the call needs.
func TestCurl(t *testing.T) {
	t.Parallel()
	require.Equal(t, `'it'\''s'`, quoteShell("it's"))
	page := currentPage(t)
	require.Contains(t, page, "curl http://127.0.0.1:8080/sessions/eu-west.")
	require.Equal(t, strings.Count(page, "127.0.0.1:8080/fleet/"),
		strings.Count(page, "X-Fleet-Token: $FLEET_TOKEN")+
			strings.Count(page, "Authorization: $ARBITRIUM_CONTEXT_TOKEN"))
}
