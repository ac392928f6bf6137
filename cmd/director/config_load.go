package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/cli"
)

// loaded is a configuration with the source of each value, in the order of the table.
type loaded struct {
	config Config

	environ        environment
	settings       []setting
	sources        []source
	formerSettings []formerSetting // those that are set
}

// addFlags adds the flags of the settings that the commands read.
func addFlags(flags *pflag.FlagSet, commands commandSet) {
	flags.SortFlags = false // --help keeps the order of the table, which groups related settings
	for _, s := range allSettings() {
		if s.commands&commands == 0 {
			continue
		}
		// The default is only shown: loadSettings reads a flag where it was given, and else leaves the option as it is.
		flag := flags.VarPF(&rawFlag{s.value.showText(), s.value.kindName}, s.flag, "",
			fmt.Sprintf("%s [%s]", s.plainHelp(), s.variableName()))
		// So that --work alone means true; without this, pflag takes the next argument for its value.
		if s.value.kindName == kindBool {
			flag.NoOptDefVal = "true"
		}
		flag.Annotations = map[string][]string{sectionAnnotation: {s.section}, wordsAnnotation: s.value.allowedWords}
		flag.Hidden = !s.isListed()
		if s.start {
			flag.Annotations[startAnnotation] = nil // the key alone counts
		}
	}
	addRemovedFlags(flags, commands)
	addHelpAll(flags)
}

// loadSettings reads the settings of a command from its flags, else the environment, else the defaults. Settings of
// other commands are not read, and so not refused. The error names all invalid values.
func loadSettings(flags *pflag.FlagSet, environ environment, commands commandSet) (*loaded, error) {
	l := &loaded{config: defaultConfig(), environ: environ, formerSettings: formerSettings(flags, environ, commands)}
	var bad []error
	// Bound to this configuration: assignText sets the fields of l.config.
	for _, s := range l.config.settingsTable() {
		// A variable for replicas must not keep an operator's command from running.
		if s.commands&commands == 0 {
			continue
		}
		text, from := s.givenValue(flags, environ)
		if err := s.assignText(text, from); err != nil {
			bad = append(bad, err)
		}
		l.settings, l.sources = append(l.settings, s), append(l.sources, from)
	}
	// All at once, so that nobody has to start the program again for each.
	if len(bad) > 0 {
		return nil, cli.Usage(errors.Join(bad...))
	}
	return l, nil
}

// sourceOf returns the source of a setting's value. It panics for a setting that the command does not read.
func (l *loaded) sourceOf(flag string) source {
	i := slices.IndexFunc(l.settings, func(s setting) bool { return s.flag == flag })
	return l.sources[i]
}
