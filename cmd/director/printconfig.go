package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/cli"
)

// configLine is one setting in the output of `serve --print-config`.
type configLine struct {
	Setting string `json:"setting"`
	Flag    string `json:"flag"`
	Value   string `json:"value"`
	Source  string `json:"source"`
	Secret  bool   `json:"secret"`
}

// printConfig writes each setting's value and source. Secrets are masked.
func (l *loaded) printConfig(out cli.Output) error {
	lines := make([]configLine, 0, len(l.settings))
	for i, s := range l.settings {
		if s.isListed() || l.sources[i] != fromDefault {
			lines = append(lines, configLine{s.variableName(), "--" + s.flag, s.value.showText(), string(l.sources[i]),
				s.secret})
		}
	}
	return cli.Write(out.Sparing("source"), lines, []string{"setting", "value", "source"},
		func(c configLine) []any { return []any{c.Setting, c.Value, c.Source} })
}

// sectionTable returns the table of a section in docs/configuration.md.
func sectionTable(section string) string {
	var b strings.Builder
	b.WriteString("| variable | default | allowed | |\n|---|---|---|---|\n")
	for _, s := range allSettings() {
		if s.section == section && s.isListed() {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.namesText(), codeSpan(s.value.showText()), s.value.allowedText,
				s.helpText())
		}
	}
	return b.String()
}

// namesText has the variable's own name first: it wins over the others.
func (s setting) namesText() string {
	return codeSpan(strings.Join(slices.Concat([]string{s.variableName()}, s.aliases, s.upstream.variableNames), "`, `"))
}

// helpText is the text of the page, which is Markdown, with a mark for what the whole fleet must agree on.
func (s setting) helpText() string {
	story := s.help + "."
	if s.fleetWide {
		story = "*Fleet-wide.* " + story
	}
	return story
}

// codeSpan returns "" for an empty text, which Markdown cannot show as code.
func codeSpan(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
