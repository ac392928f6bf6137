package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/cli"
)

// setting is a row of the table of settings.
type setting struct {
	flag      string   // its flag without the dashes
	env       string   // its variable; "" is DIRECTOR_ and the flag's name
	aliases   []string // further names of the variable, that other systems use
	upstream  upstream // variables of another system in a syntax of their own
	section   string
	help      string // for --help and docs/configuration.md
	secret    bool   // never printed
	fleetWide bool   // replicas and workers of one database must agree on it
	start     bool   // an installation starts with it: --help shows it, and not only --help-all
	commands  commandSet
	value     value // the option that it sets, which has the default
}

// upstream is the variables in which another system has a setting, in a syntax of its own.
type upstream struct {
	variableNames []string
	readText      func(environ environment) (text, name string) // in our syntax, and the variable it is from; "" if none is set
}

// translatedVariable is a single variable of another system.
func translatedVariable(name string, translate func(text string) string) upstream {
	return upstream{[]string{name}, func(environ environment) (string, string) {
		text, ok := environ.lookup(name)
		if !ok {
			return "", ""
		}
		return translate(text), name
	}}
}

// variableName is the name of the setting's environment variable.
func (s setting) variableName() string {
	if s.env != "" {
		return s.env
	}
	return "DIRECTOR_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

// plainHelp is help without the marks of Markdown.
func (s setting) plainHelp() string { return strings.ReplaceAll(s.help, "`", "") }

// source is where a setting's value comes from.
type source string

const fromDefault source = "default"

func fromFlag(name string) source { return source("flag --" + name) }
func fromEnv(name string) source  { return source("environment " + name) }

// loaded is a configuration with the source of each value, in the order of the table.
type loaded struct {
	Config

	environ         environment
	settings        []setting
	sources         []source
	ignoredSettings []ignoredSetting
}

// rawFlag keeps the text of the command line. load validates it together with the environment.
type rawFlag struct{ givenText, valueKind string }

func (f *rawFlag) String() string     { return f.givenText }
func (f *rawFlag) Set(s string) error { f.givenText = s; return nil }
func (f *rawFlag) Type() string       { return f.valueKind }

// addFlags adds the flags of the settings that the commands read.
func addFlags(flags *pflag.FlagSet, commands commandSet) {
	flags.SortFlags = false // --help keeps the order of the table, which groups related settings
	for _, s := range allSettings() {
		if s.commands&commands == 0 {
			continue
		}
		flag := flags.VarPF(&rawFlag{s.value.showText(), s.value.kindName}, s.flag, "",
			fmt.Sprintf("%s [%s]", s.plainHelp(), s.variableName()))
		if s.value.kindName == kindBool {
			flag.NoOptDefVal = "true"
		}
		flag.Annotations = map[string][]string{sectionAnnotation: {s.section}, wordsAnnotation: s.value.allowedWords}
		if s.start {
			flag.Annotations[startAnnotation] = nil
		}
	}
	addRemovedFlags(flags, commands)
	addHelpAll(flags)
}

// allSettings returns the settings with their defaults.
func allSettings() []setting {
	c := defaultConfig()
	return c.settingsTable()
}

// loadSettings reads the settings of a command from its flags, else the environment, else the defaults. The error names all
// invalid values.
func loadSettings(flags *pflag.FlagSet, environ environment, commands commandSet) (*loaded, error) {
	l := &loaded{Config: defaultConfig(), environ: environ, ignoredSettings: ignoredSettings(flags, environ, commands)}
	var bad []error
	for _, s := range l.Config.settingsTable() {
		if s.commands&commands == 0 {
			continue
		}
		text, from := s.givenValue(flags, environ)
		if err := s.assignText(text, from); err != nil {
			bad = append(bad, err)
		}
		l.settings, l.sources = append(l.settings, s), append(l.sources, from)
	}
	// All at once, so that nobody mends one after the other.
	if len(bad) > 0 {
		return nil, cli.Usage(errors.Join(bad...))
	}
	return l, nil
}

// givenValue returns the text that the command line or the environment gives a setting, and its source. Without one the
// text is empty, and the option keeps its default.
func (s setting) givenValue(flags *pflag.FlagSet, environ environment) (string, source) {
	if f := flags.Lookup(s.flag); f != nil && f.Changed {
		return f.Value.String(), fromFlag(s.flag)
	}
	if strings.HasSuffix(s.env, ">") { // a variable for each mode
		if all := environ.joinPrefixed(modePrefix); all != "" {
			return all, fromEnv(s.env)
		}
		return "", fromDefault
	}
	for _, name := range append([]string{s.variableName()}, s.aliases...) {
		if text, ok := environ.lookup(name); ok {
			return text, fromEnv(name)
		}
	}
	// Last: our own names win over those of another system.
	if s.upstream.readText != nil {
		if text, name := s.upstream.readText(environ); name != "" {
			return text, fromEnv(name)
		}
	}
	return "", fromDefault
}

// assignText sets a value. White space around it is not meant: a value that was read from a file ends with the file's line
// break.
func (s setting) assignText(text string, from source) error {
	if !s.value.keepsSpace {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return nil // not set
	}
	err := s.checkLines(text)
	if err == nil {
		err = s.value.setText(text)
	}
	if err == nil {
		return nil
	}
	shown := fmt.Sprintf("%q", withoutPassword(text))
	if s.secret {
		shown = "the secret"
	}
	return fmt.Errorf("--%s / %s: %s (from the %s) is not allowed: %w", s.flag, s.variableName(), shown, from, err)
}

// checkLines refuses secrets that no caller can send, such as two on two lines. JSON may have several lines.
func (s setting) checkLines(text string) error {
	if !s.secret || strings.HasPrefix(text, "{") {
		return nil
	}
	for _, item := range splitList(text) {
		if strings.ContainsFunc(item, unicode.IsControl) {
			return errors.New("it has a line break or another control character within: it must be on one line, " +
				"several comma-separated")
		}
	}
	return nil
}

// sourceOf returns the source of a setting's value.
func (l *loaded) sourceOf(flag string) source {
	i := slices.IndexFunc(l.settings, func(s setting) bool { return s.flag == flag })
	return l.sources[i]
}
