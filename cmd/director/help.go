package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/cli"
)

// helpWidth is the width, in columns, at which --help wraps the flags.
const helpWidth = 100

// Annotations of flags, which addFlags sets.
const (
	sectionAnnotation = "section" // the heading above the flag in --help
	wordsAnnotation   = "words"   // the allowed values, for completion
)

// writeUsage writes cobra's usage text, with the settings below the headings of docs/configuration.md, because a single list
// of the 45 flags of serve is hard to search.
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
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(to, "\nCommands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(to, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	writeFlags(to, cmd.LocalFlags())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(to, "\nRun '%s COMMAND --help' for the flags of a command.\n", cmd.CommandPath())
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
	return slices.IndexFunc(new(Config).settings(), func(s setting) bool { return s.section == section })
}

// explainFlag adds the most similar flag to cobra's error.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := cli.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return cli.Usage(fmt.Errorf("%w, did you mean --%s?", err, near))
		}
	}
	return cli.Usage(fmt.Errorf("%w (put -- before a name that begins with a dash)", err)) // a key id can begin with one
}

// completeWords registers completions for the flags of cmd and its sub-commands that have a fixed list of values.
func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[wordsAnnotation]; len(words) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		completeWords(sub)
	}
}
