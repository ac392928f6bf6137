package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/base/nearest"
	"github.com/lattice-director/director/internal/cli"
)

// helpWidth is the width, in columns, at which --help wraps the flags.
const helpWidth = 100

// Annotations of flags, which addFlags sets.
const (
	sectionAnnotation = "section" // the heading above the flag in --help
	startAnnotation   = "start"   // of a setting that an installation starts with
	wordsAnnotation   = "words"   // the allowed values, for completion
)

// maxHelpSettings is the number of settings up to which --help shows all. Only commands with more, such as serve, have
// --help-all.
const maxHelpSettings = 24

// helpAll is the flag --help-all, which is --help with every setting.
type helpAll struct{ flags *pflag.FlagSet }

// String returns the default, for which pflag shows nothing: "false" is the zero value of a bool.
func (h helpAll) String() string { return "false" }

// Set sets --help as well, which makes cobra print the help; shownFlags then sees that --help-all was given.
func (h helpAll) Set(string) error { return h.flags.Set("help", "true") }
func (h helpAll) Type() string     { return kindBool }

// addHelpAll adds --help-all where --help does not show all settings.
func addHelpAll(flags *pflag.FlagSet) {
	settings := 0
	flags.VisitAll(func(f *pflag.Flag) { settings += len(f.Annotations[sectionAnnotation]) })
	if settings > maxHelpSettings {
		flags.VarPF(helpAll{flags}, "help-all", "", "Show every setting").NoOptDefVal = "true"
	}
}

// shownFlags returns the flags that --help shows, and how many settings it leaves to --help-all.
func shownFlags(flags *pflag.FlagSet) (shown *pflag.FlagSet, hidden int) {
	all := flags.Lookup("help-all")
	shown = pflag.NewFlagSet("", pflag.ContinueOnError)
	shown.SortFlags = false // in the order of the table of settings
	flags.VisitAll(func(f *pflag.Flag) {
		// Removed and unlisted settings are accepted and never shown.
		if f.Hidden {
			return
		}
		_, isStart := f.Annotations[startAnnotation]
		// Flags of the command that are no settings have no section, and are always shown.
		if all == nil || all.Changed || isStart || f.Annotations[sectionAnnotation] == nil {
			shown.AddFlag(f)
		} else {
			hidden++
		}
	})
	return shown, hidden
}

// writeUsage writes cobra's usage text, with the settings below the headings of docs/configuration.md, because a single
// list of the flags of serve is hard to search, and the commands in groups.
func writeUsage(to io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(to, "Usage:")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(to, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(to, "  %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(to, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(to, cmd)
	shown, hidden := shownFlags(cmd.LocalFlags())
	writeFlags(to, shown)
	if hidden > 0 {
		fmt.Fprintf(to, "\n'%s --help-all' shows %d further settings.\n", cmd.CommandPath(), hidden)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(to, "\nRun '%s COMMAND --help' for the flags of a command.\n", cmd.CommandPath())
	}
}

// writeCommands writes the sub-commands, each group below its title, and those without a group last.
func writeCommands(to io.Writer, cmd *cobra.Command) {
	for _, group := range append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Commands"}) {
		// Written with the first command, so that a group without one has no title.
		title := "\n" + group.Title + ":\n"
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == group.ID {
				fmt.Fprintf(to, "%s  %-*s  %s\n", title, cmd.NamePadding(), sub.Name(), sub.Short)
				title = ""
			}
		}
	}
}

// writeFlags writes the command's own flags first, then its settings by section.
func writeFlags(to io.Writer, flags *pflag.FlagSet) {
	var sections []string
	groups := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		section := strings.Join(f.Annotations[sectionAnnotation], "")
		if groups[section] == nil {
			groups[section] = pflag.NewFlagSet(section, pflag.ContinueOnError)
			groups[section].SortFlags = false
			sections = append(sections, section)
		}
		groups[section].AddFlag(f)
	})
	// In the order of docs/configuration.md; the flags keep their order within a section.
	slices.SortStableFunc(sections, func(a, b string) int { return sectionOrder(a) - sectionOrder(b) })
	for _, section := range sections {
		title := "Flags"
		if section != "" {
			title = section
		}
		if groups[section].HasAvailableFlags() {
			fmt.Fprintf(to, "\n%s:\n%s", title, groups[section].FlagUsagesWrapped(helpWidth))
		}
	}
}

// sectionOrder returns the position of a section. Flags that are not settings have section "" and come first.
func sectionOrder(section string) int {
	if section == "" {
		return -1
	}
	return slices.IndexFunc(allSettings(), func(s setting) bool { return s.section == section })
}

// numberWords has the allowed numbers of a flag in words, by the flag's type.
var numberWords = map[string]string{
	"int": "a whole number", "int32": "a whole number of at most 2147483647", "uint64": "a whole number, 0 or more",
	"float64": "a number such as 0.5", "duration": "a time such as 90s, 5m or 2h",
}

// explainFlag returns a usage error that says what a numeric flag takes, or which known flag is the most similar one.
func explainFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && numberWords[invalid.GetFlag().Value.Type()] != "" {
		flag := invalid.GetFlag()
		return cli.Usage(fmt.Errorf("--%s %s is not allowed: it must be %s", flag.Name, invalid.GetValue(),
			numberWords[flag.Value.Type()]))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Word(unknown.GetSpecifiedName(), names); near != "" {
			return cli.Usage(fmt.Errorf("%w, did you mean --%s?", err, near))
		}
	}
	// Perhaps no flag was meant: the id of a signing key can begin with a dash.
	return cli.Usage(fmt.Errorf("%w (put -- before a name that begins with a dash)", err))
}

// completeWords registers completions for the flags of cmd and its sub-commands that have a fixed list of values.
func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[wordsAnnotation]; len(words) > 0 {
			completeFixed(cmd, f.Name, words)
		}
	})
	for _, sub := range cmd.Commands() {
		completeWords(sub)
	}
}

// describeCompletion adds examples to cobra's completion command, because every command of ours has one.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Example = "  source <(director completion bash)"
		for _, shell := range cmd.Commands() {
			shell.Example = "  director completion " + shell.Name() + " --help"
		}
	}
}
