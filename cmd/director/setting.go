package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
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
	// For tests and benchmarks of whole processes, and nobody else has a reason to set it: no list or help has it.
	unlisted bool
	// The variable that has replaced it. This one is unlisted, is still read for one release, and is warned of.
	replacedBy string
	start      bool // an installation starts with such settings: --help shows it, the others are in --help-all
	commands   commandSet
	value      value // the option that it sets, which has the default
}

// inSection fills in the section and the commands of the settings that have none of their own.
func inSection(section string, commands commandSet, settings []setting) []setting {
	for i := range settings {
		settings[i].section = cmp.Or(settings[i].section, section)
		settings[i].commands = cmp.Or(settings[i].commands, commands)
	}
	return settings
}

// upstream is the variables in which another system has a setting, in a syntax of its own. Installations that move from
// that system can keep them.
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

// isListed reports whether help, docs/configuration.md and --print-config have the setting.
func (s setting) isListed() bool { return !s.unlisted && s.replacedBy == "" }

// plainHelp is help without the marks of Markdown.
func (s setting) plainHelp() string { return strings.ReplaceAll(s.help, "`", "") }

// source is where a setting's value comes from.
type source string

// fromDefault says that nobody has set it: `dev` then fills in its own value.
const fromDefault source = "default"

// A flag is named as it is typed, and a variable as it is exported, so that a message says where to change the value.
func fromFlag(name string) source { return source("flag --" + name) }
func fromEnv(name string) source  { return source("environment " + name) }

// rawFlag keeps the text of the command line. loadSettings validates it together with the environment, so that one
// error names all invalid values.
type rawFlag struct{ givenText, valueKind string }

func (f *rawFlag) String() string     { return f.givenText }
func (f *rawFlag) Set(s string) error { f.givenText = s; return nil }
func (f *rawFlag) Type() string       { return f.valueKind }

// givenValue returns the text that the command line or the environment gives a setting, and its source. Without one the
// text is empty, and the option keeps its default.
func (s setting) givenValue(flags *pflag.FlagSet, environ environment) (string, source) {
	// The flag wins over the environment, which a service manager or an image sets for all commands.
	if f := flags.Lookup(s.flag); f != nil && f.Changed {
		return f.Value.String(), fromFlag(s.flag)
	}
	if strings.HasSuffix(s.env, ">") { // DIRECTOR_MODE_<MODE>, a variable for each mode
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

// assignText sets a value, without the white space around it: a value that was read from a file ends with a line break.
func (s setting) assignText(text string, from source) error {
	if !s.value.keepsSpace {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return nil // not set
	}
	err := s.checkAndSet(text)
	if err == nil {
		return nil
	}
	// The error goes to the log, which more people read than the settings.
	shown := fmt.Sprintf("%q", withoutPassword(text))
	if s.secret {
		shown = "the secret"
	}
	return fmt.Errorf("--%s / %s: %s (from the %s) is not allowed: %w", s.flag, s.variableName(), shown, from, err)
}

// checkAndSet checks the lines of a text before it sets the value, whose error would be about a length, and not about a
// line break.
func (s setting) checkAndSet(text string) error {
	if err := s.checkLines(text); err != nil {
		return err
	}
	return s.value.setText(text)
}

// checkLines refuses secrets that no caller can send in a header, such as two on two lines. JSON may have several
// lines.
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

// commandSet is the commands that read a setting.
type commandSet uint

const (
	byServe commandSet = 1 << iota
	byWork
	byDev
	byMigrate
	byKeys     // keys rotate, which makes keys as a worker does
	byOperator // commands on the database: keys, fleet, sessions, events, invariants, doctor
	byToken    // token mint
	byDoctor
	byProfiles // profiles, which are of a universe
	byCheck    // profiles check, which needs no database
	byExplain  // explain, which decodes tickets
	byReplay   // replay, which reads tickets as workers record them
	byAgents   // agents key, whose keys are of a fleet
	byProviders
	byDeploy   // deployments start and env, which make keys and credentials of servers
	byProjects // projects, which make keys and tokens of the realtime lobby
	byApply    // apply, whose projects are in a region
	byRooms    // rooms, whose types decide what a change does
	bySidecar
	byHints // dev hints
	byMove  // regions move: the other cell's Postgres connects to this one's

	byServers = byServe | byDev
	byLoops   = byServe | byWork | byDev
	byCallers = byLoops | byProviders // what calls providers
	byAll     = byLoops | byMigrate | byKeys | byOperator
)

// The sections of the settings, in the order of docs/configuration.md.
const (
	sectionDatabase  = "Database"
	sectionListeners = "Listeners"
	sectionAuth      = "Authentication"
	sectionSessions  = "Instances, sessions and seats"
	sectionTokens    = "Tokens and keys"
	sectionOpenMatch = "Open Match"
	sectionRivalis   = "Rivalis orchestrator"
	sectionLoop      = "Matchmaking"
	sectionProvision = "Provisioning"
	sectionBevygap   = "bevygap"
	sectionRealtime  = "Realtime lobby"
	sectionConsole   = "Console"
	sectionSidecar   = "Sidecar"
	sectionLimits    = "Limits"
	sectionWorkers   = "Workers"
	sectionLogs      = "Logs and traces"
	sectionDev       = "Local development"
)
