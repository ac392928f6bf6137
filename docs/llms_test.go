package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write llms.txt")

const repositoryURL = "https://raw.githubusercontent.com/lattice-director/director/main/"

// Pins an llms.txt that leaves out a page of docs/README.md, or describes one that has changed.
func TestLLMs(t *testing.T) {
	t.Parallel()
	want := llms(t, pages(t))
	file := filepath.Join(root, "llms.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "llms.txt is out of date: go test ./docs -run TestLLMs -update")
}

var (
	introduction = regexp.MustCompile(`(?s)^# (.+?)\n\n(?:<!--.*?-->\n\n)?(.*?)(?:\n\n|\n#|$)`)
	sentence     = regexp.MustCompile(`(?s)^.*?[.:](?:\s|$)`)
	linked       = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// llms returns the list of pages for language models, as llmstxt.org describes it: the sections and pages of
// docs/README.md, with the title and the first sentences of each page.
func llms(t *testing.T, all map[string]string) string {
	t.Helper()
	title, about := introduce(all["README.md"])
	var out strings.Builder
	out.WriteString("# " + title + "\n\n> " + about + "\n")
	listed := map[string]bool{}
	for _, section := range strings.Split(all["docs/README.md"], "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		lines := llmsLines(all, listed, text)
		if len(lines) > 0 {
			out.WriteString("\n## " + name + "\n\n" + strings.Join(lines, "\n") + "\n")
		}
	}
	for page := range all {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" {
			require.True(t, listed[page], "docs/README.md does not list %s", page)
		}
	}
	return out.String()
}

// llmsLines describes the pages to which a section links, each once.
func llmsLines(all map[string]string, listed map[string]bool, section string) (lines []string) {
	for _, match := range link.FindAllStringSubmatch(section, -1) {
		name, _, _ := strings.Cut(match[1], "#")
		page := filepath.Join("docs", name)
		if listed[page] || strings.Contains(name, "://") {
			continue
		}
		listed[page] = true
		text, isPage := all[page]
		if !isPage {
			lines = append(lines, "- ["+page+"]("+repositoryURL+page+")")
			continue
		}
		title, about := introduce(text)
		if about != "" {
			about = ": " + about
		}
		lines = append(lines, "- ["+title+"]("+repositoryURL+page+")"+about)
	}
	return lines
}

// introduce returns a page's title and its first sentences.
func introduce(text string) (title, about string) {
	m := introduction.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	about = strings.Join(strings.Fields(m[2]), " ")
	if strings.HasPrefix(about, "#") || strings.HasPrefix(about, "|") || strings.HasPrefix(about, "```") {
		about = ""
	}
	about = linked.ReplaceAllString(about, "$1")
	return m[1], strings.TrimSuffix(firstSentences(about), ":")
}

// maxIntroduction is how long the description of a page may be, in bytes, unless its first sentence is longer.
const maxIntroduction = 200

// firstSentences returns as many sentences as fit, at least one.
func firstSentences(text string) (first string) {
	for rest := text; rest != ""; {
		next := sentence.FindString(rest)
		if next == "" {
			next = rest
		}
		if first != "" && len(first)+len(next) > maxIntroduction {
			break
		}
		first, rest = first+next, strings.TrimPrefix(rest, next)
	}
	return strings.TrimSpace(first)
}
